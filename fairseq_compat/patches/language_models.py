"""Evaluating language models."""

import functools

from fairseq_compat.overlay import Overlay
from fairseq_compat.registry import patch


class SkippedSamplesError(ValueError):
    """All samples are longer than the model's limit; the message is one line with the cure."""

    one_line = True


def _check_lengths(lengths, max_positions, allowed, warn):
    """Call ``warn`` with one line if samples are longer than ``max_positions``, unless ``allowed``.

    Raises SkippedSamplesError if no sample is left.
    """
    too_long = lengths[lengths > max_positions] if max_positions is not None else lengths[:0]
    none_is_left = len(too_long) == len(lengths)
    if len(too_long) == 0 or (allowed and not none_is_left):
        return
    longest = int(lengths.max())
    line = (
        f"{len(too_long)} of {len(lengths)} samples ({int(too_long.sum())} of {int(lengths.sum())} tokens) are longer "
        f"than the model's {max_positions} positions (the longest has {longest} tokens) and left out of the "
        f"perplexity; give --tokens-per-sample {max_positions} or less, or, to a model that can take longer samples, "
        f"--model-overrides \"{{'max_target_positions': {longest}}}\""
    )
    if none_is_left:
        raise SkippedSamplesError(line)
    warn(f"{line}; --skip-invalid-size-inputs-valid-test leaves them out without this warning")


@patch(
    "eval_lm_skipped_samples",
    "fairseq_cli.eval_lm",
    fault="fairseq-eval-lm, all samples longer than the model: Perplexity: 1.00; some: a warning without their share",
    since="fairseq itself",
)
def eval_lm_skipped_samples(module):
    """Before the first forward pass, warn about skipped samples, or raise an error if no sample is left."""
    stock = module.main

    @functools.wraps(stock)
    def main(cfg, **options):
        allowed = getattr(cfg, "dataset", cfg).skip_invalid_size_inputs_valid_test
        setup_task = module.tasks.setup_task

        def setup_checked_task(*args, **named):
            task = setup_task(*args, **named)
            load = task.eval_lm_dataloader

            def eval_lm_dataloader(dataset, *args, max_positions=None, **named):
                _check_lengths(dataset.sizes, max_positions, allowed, module.logger.warning)
                return load(dataset, *args, max_positions=max_positions, **named)

            task.eval_lm_dataloader = eval_lm_dataloader
            return task

        tasks = module.tasks
        module.tasks = Overlay(tasks, setup_task=setup_checked_task)
        try:
            return stock(cfg, **options)
        finally:
            module.tasks = tasks

    module.main = main
