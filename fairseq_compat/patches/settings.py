"""Settings of checkpoints and of the command line: never run as code, and reported in one line if they are invalid."""

import functools
import logging
import re

from fairseq_compat.overlay import Overlay
from fairseq_compat.registry import patch

#: Every module of fairseq that calls eval.
EVALUATING = (
    "fairseq.criterions.ctc",
    "fairseq.data.audio.raw_audio_dataset",
    "fairseq.data.codedataset",
    "fairseq.models.fconv",
    "fairseq.models.fconv_lm",
    "fairseq.models.fconv_self_att",
    "fairseq.models.hubert.hubert",
    "fairseq.models.lightconv_lm",
    "fairseq.models.speech_to_text.s2t_wav_transformer",
    "fairseq.models.transformer_lm",
    "fairseq.models.wav2vec.wav2vec",
    "fairseq.models.wav2vec.wav2vec2",
    "fairseq.optim.adafactor",
    "fairseq.optim.adam",
    "fairseq.optim.adamax",
    "fairseq.optim.cpu_adam",
    "fairseq.optim.fused_lamb",
    "fairseq.utils",
)


@patch(
    "settings_are_no_code",
    *EVALUATING,
    fault="settings of a checkpoint reach eval: generate, interactive, eval-lm, validate run the code in them",
    since="fairseq itself",
)
def settings_are_no_code(module):
    """Give the module its own ``eval``, which evaluates only literals and sums and products of them."""
    from fairseq_compat.settings import evaluate

    module.eval = evaluate


@patch(
    "model_overrides",
    "fairseq_cli.generate",
    "fairseq_cli.interactive",
    "fairseq_cli.eval_lm",
    "fairseq_cli.validate",
    fault="--model-overrides that is no dictionary: a traceback; eval-lm and validate run it as code",
    since="fairseq itself",
)
def model_overrides(module):
    """Read a dictionary of literals, and report anything else in one line."""
    from fairseq_compat.settings import read_overrides

    if hasattr(module, "ast"):
        module.ast = Overlay(module.ast, literal_eval=read_overrides)
    else:
        module.eval = read_overrides


class CheckpointSettingsError(ValueError):
    """Settings of a checkpoint that fairseq cannot use; the message is one line with the cure."""

    one_line = True


def _raise_in_one_line(error, what):
    """Raise CheckpointSettingsError with ``what`` and the cure; raise ``error`` itself if it is explained elsewhere."""
    from fairseq_compat.user_errors import explain

    machine = isinstance(error, (OSError, ImportError, MemoryError)) or re.search("CUDA|memory", str(error))
    if machine or explain(error) is not None:
        raise error
    # The first line of PyTorch's errors about parameters only names the model.
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    detail = next((line for line in lines if not line.startswith("Error(s) in loading")), "")[:200]
    raise CheckpointSettingsError(
        f"{what} ({type(error).__name__}: {detail}); correct --model-overrides, or use another checkpoint"
    ) from error


@patch(
    "checkpoint_settings",
    "fairseq.checkpoint_utils",
    fault="a checkpoint with settings that fit no model, or --model-overrides that do: a traceback of forty lines",
    since="fairseq itself",
)
def checkpoint_settings(module):
    """Check overrides against the checkpoint's settings, and name the file and the reason in errors."""
    from fairseq_compat.settings import Overrides, check_overrides

    load, build, overwrite = (
        module.load_checkpoint_to_cpu,
        module.load_model_ensemble_and_task,
        module.overwrite_args_by_name,
    )

    @functools.wraps(overwrite)
    def overwrite_args_by_name(cfg, overrides):
        if isinstance(overrides, Overrides):
            check_overrides(cfg, overrides)
        return overwrite(cfg, overrides)

    @functools.wraps(load)
    def load_checkpoint_to_cpu(path, *args, **options):
        # Before the exception, fairseq logs all settings in one line of thousands of characters.
        logger = logging.getLogger("fairseq.dataclass.utils")
        disabled, logger.disabled = logger.disabled, True
        try:
            return load(path, *args, **options)
        except Exception as error:
            _raise_in_one_line(error, f"{path} is not a checkpoint of fairseq-train")
        finally:
            logger.disabled = disabled

    @functools.wraps(build)
    def load_model_ensemble_and_task(filenames, *args, **options):
        try:
            return build(filenames, *args, **options)
        except Exception as error:
            _raise_in_one_line(error, f"the settings and the parameters of {', '.join(filenames)} do not match")

    module.overwrite_args_by_name = overwrite_args_by_name
    module.load_checkpoint_to_cpu = load_checkpoint_to_cpu
    module.load_model_ensemble_and_task = load_model_ensemble_and_task


class TokensPerSampleError(ValueError):
    """Samples without tokens; the message is one line with the cure."""

    one_line = True


@patch(
    "tokens_per_sample",
    "fairseq.tasks.language_modeling",
    fault="--tokens-per-sample 0 or below: ZeroDivisionError, or an empty dataset",
    since="fairseq itself",
)
def tokens_per_sample(module):
    """Reject it before data and model are loaded."""
    task = module.LanguageModelingTask
    stock = task.setup_task.__func__

    @functools.wraps(stock)
    def setup_task(cls, args, **options):
        count = args.tokens_per_sample
        if count < 1:
            raise TokensPerSampleError(f"--tokens-per-sample must be at least 1, but is {count}; 512 is usual")
        return stock(cls, args, **options)

    task.setup_task = classmethod(setup_task)
