"""The commands: ``--user-dir`` by name, ``fairseq-score --sacrebleu``, and ``--log-file``."""

import contextlib
import functools
import sys
import warnings

from fairseq_compat.overlay import Overlay
from fairseq_compat.registry import patch


@patch(
    "user_dir_by_name",
    "fairseq.utils",
    fault="--user-dir NAME of an installed package: FileNotFoundError; after `import NAME`: its models are missing",
    since="fairseq itself",
)
def user_dir_by_name(module):
    """Find installed packages by name, and register the models and tasks of a package that is imported already."""
    from fairseq_compat.user_dir import UserDirectories

    stock = module.import_user_module
    directories = UserDirectories(stock)

    @functools.wraps(stock)
    def import_user_module(args):
        directories.load(getattr(args, "user_dir", None))

    module.import_user_module = import_user_module


def _as_lists(corpus_bleu):
    def lines(stream):
        return stream if isinstance(stream, (str, list, tuple)) else [line.rstrip("\n") for line in stream]

    @functools.wraps(corpus_bleu)
    def corpus_bleu_of_streams(hypotheses, references, *args, **options):
        return corpus_bleu(lines(hypotheses), [lines(reference) for reference in references], *args, **options)

    return corpus_bleu_of_streams


@patch(
    "score_sacrebleu_lists",
    "fairseq_cli.score",
    fault="fairseq-score --sacrebleu: TypeError: refs should be a sequence of strings",
    since="sacrebleu 2.0",
)
def score_sacrebleu_lists(module):
    """Pass lists of lines instead of open files; sacrebleu is restored when the command ends."""
    stock = module.cli_main

    @functools.wraps(stock)
    def cli_main():
        import sacrebleu

        corpus_bleu = sacrebleu.corpus_bleu
        sacrebleu.corpus_bleu = _as_lists(corpus_bleu)
        try:
            return stock()
        finally:
            sacrebleu.corpus_bleu = corpus_bleu

    module.cli_main = cli_main


class SourceTextError(ValueError):
    """Text to translate that is not UTF-8; the message is one line with the cure."""

    one_line = True


@patch(
    "interactive_reads_utf8",
    "fairseq_cli.interactive",
    fault="fairseq-interactive: UnicodeDecodeError; a carriage return within a sentence makes two of it",
    since="fairseq itself",
)
def interactive_reads_utf8(module):
    """End sentences at line feeds only, and name the line that is not UTF-8."""

    def buffered_read(input, buffer_size):
        name = "standard input" if input == "-" else input
        # A Python caller may have replaced stdin by a text stream without a buffer.
        stdin = getattr(sys.stdin, "buffer", sys.stdin)
        buffer = []
        with contextlib.nullcontext(stdin) if input == "-" else open(input, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    buffer.append((line.decode("utf-8") if isinstance(line, bytes) else line).strip())
                except UnicodeDecodeError as error:
                    raise SourceTextError(
                        f"{name} is not UTF-8: byte 0x{line[error.start]:02x} in line {number}; convert it, for "
                        "example with iconv"
                    ) from None
                if len(buffer) >= buffer_size:
                    yield buffer
                    buffer = []
        if buffer:
            yield buffer

    module.buffered_read = buffered_read


@patch(
    "log_file_once",
    "fairseq.logging.progress_bar",
    fault="--log-file: every epoch and validation opens the file again, and lines are repeated ever more often",
    since="fairseq itself",
)
def log_file_once(module):
    """Return the same handler for the same file, which a logger adds only once."""
    module.logging = Overlay(module.logging, FileHandler=functools.cache(module.logging.FileHandler))


@patch(
    "quiet_warnings",
    "fairseq.dataclass.utils",
    fault="every command: some twenty lines of warnings about calls that only fairseq's authors could change",
    since="hydra-core 1.1, PyTorch 2.4",
)
def quiet_warnings(module):
    """Silence only the warnings caused by fairseq's own calls of hydra, PyTorch and apex."""
    for origin in (r"hydra\.", r"fairseq\.dataclass", r"fairseq_cli\.hydra_train"):
        warnings.filterwarnings("ignore", category=UserWarning, module=origin)
    for message, category in (
        (r"\s*'.*' is validated against ConfigStore schema", UserWarning),
        (r"`torch\.cuda\.amp\.\w+\(args\.\.\.\)` is deprecated", FutureWarning),
        (r"`torch\.jit\.script` is deprecated", FutureWarning),
        (r"'pin_memory' argument is set as true but no accelerator", UserWarning),
        (r"Support for mismatched key_padding_mask and attn_mask is deprecated", UserWarning),
        # On a GPU without NVIDIA's apex, which nothing here needs.
        (r"amp_C fused kernels unavailable", UserWarning),
    ):
        warnings.filterwarnings("ignore", message, category)
