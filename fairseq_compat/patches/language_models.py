"""Evaluating language models."""

import functools

from fairseq_compat.overlay import Overlay
from fairseq_compat.registry import patch


class SkippedSamplesError(ValueError):
    """Samples that fairseq-eval-lm would leave out; the message is one line with the cure."""

    one_line = True


def _refuse_to_skip(lengths, max_positions, allowed):
    """Raise SkippedSamplesError where samples are longer than ``max_positions``: always if no sample is left."""
    skipped = int((lengths > max_positions).sum())
    if skipped == 0 or (allowed and skipped < len(lengths)):
        return
    longest = int(lengths.max())
    raise SkippedSamplesError(
        f"{skipped} of {len(lengths)} samples are longer than the model's {max_positions} positions (the longest has "
        f"{longest} tokens) and would be left out of the perplexity; give --tokens-per-sample {max_positions} or less, "
        f"or, to a model that can take longer samples, --model-overrides \"{{'max_target_positions': {longest}}}\""
    )


@patch(
    "eval_lm_skips_silently",
    "fairseq_cli.eval_lm",
    fault="fairseq-eval-lm on samples longer than the model: leaves them out; Perplexity: 1.00 if none is left",
    since="fairseq itself",
)
def eval_lm_skips_silently(module):
    """Refuse before the first forward pass, unless --skip-invalid-size-inputs-valid-test allows it."""
    stock = module.main

    @functools.wraps(stock)
    def main(cfg, **options):
        allowed = getattr(cfg, "dataset", cfg).skip_invalid_size_inputs_valid_test
        setup_task = module.tasks.setup_task

        def setup_checked_task(*args, **named):
            task = setup_task(*args, **named)
            load = task.eval_lm_dataloader

            def eval_lm_dataloader(dataset, *args, max_positions=None, **named):
                _refuse_to_skip(dataset.sizes, max_positions, allowed)
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
