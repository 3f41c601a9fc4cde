"""``fairseq-posenc COMMAND``: one module of this package per command.

A command module has ``add_arguments(parser)`` and ``run(args)``, which returns the exit status (or None for 0).
Modules are imported only when their command runs, so that ``fairseq-posenc --help`` is instant.
"""

import argparse
import importlib
import os
import sys

from fairseq_posenc import __version__
from fairseq_posenc.cli.trust import apply_trust, in_flags
from fairseq_posenc.errors import InputError

COMMANDS = {
    "list": ("fairseq_posenc.cli.list_encodings", "list the positional encodings and their properties"),
    "doctor": ("fairseq_posenc.cli.doctor", "check the installation; name what is missing and how to fix it"),
    "average": ("fairseq_posenc.cli.average", "average checkpoints of one training run"),
    "export": ("fairseq_posenc.cli.export", "write a trained model for CTranslate2, Hugging Face or torch.export"),
    "score": ("fairseq_posenc.cli.score", "score translations: BLEU, chrF++, tokenised BLEU and paired significance"),
    "grain": ("fairseq_posenc.cli.grain", "the gap between systems as the n-grams of the score get longer"),
    "lengths": ("fairseq_posenc.cli.lengths", "BLEU and chrF++ by the length of the source sentence"),
    "extrapolate": ("fairseq_posenc.cli.extrapolate", "perplexity of language models by context length"),
    "resolution": ("fairseq_posenc.cli.resolution", "attention resolution: how well attention tells distances apart"),
    "receptive-field": (
        "fairseq_posenc.cli.receptive_field",
        "which tokens predictions depend on, and biases with their fits",
    ),
    "bench": (
        "fairseq_posenc.cli.bench",
        "speed and memory of encodings and whole commands relative to stock fairseq, or of attention patterns",
    ),
    "gpu-check": ("fairseq_posenc.cli.gpu_check", "what to run first on a GPU: parity with the CPU, kernels, speed"),
    "plot": ("fairseq_posenc.cli.plot", "figures of saved results: PNG, PDF, and TSV with the numbers"),
    "draw": ("fairseq_posenc.cli.draw", "figures of encodings as functions of distance"),
}


def without_old_names(argv):
    """Translate the old command ``bench-patterns`` into today's argv, with a note on stderr."""
    if argv[:1] != ["bench-patterns"]:
        return argv
    print("fairseq-posenc bench-patterns: the new name is: fairseq-posenc bench --patterns", file=sys.stderr)
    # Its measure "time" is now called "forward", as for other models.
    measures = {index + 1 for index, arg in enumerate(argv) if arg == "--measure"}
    rest = [
        arg.replace("time", "forward") if index in measures or arg.startswith("--measure=") else arg
        for index, arg in enumerate(argv)
    ][1:]
    has_patterns = any(arg == "--patterns" or arg.startswith("--patterns=") for arg in rest)
    return ["bench", *([] if has_patterns else ["--patterns"]), *rest]


def main(argv=None):
    """Run one command; return its exit status (2 for bad input, printed as one line)."""
    argv = without_old_names(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="fairseq-posenc", description="Positional encodings for fairseq.")
    parser.add_argument("--version", action="version", version=f"fairseq-posenc {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = next((arg for arg in argv if not arg.startswith("-")), None)
    for name, (module_name, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if name == chosen:
            module = importlib.import_module(module_name)
            command.description = module.__doc__
            command.formatter_class = argparse.RawDescriptionHelpFormatter
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    args = parser.parse_args(argv)
    try:
        apply_trust(args)
        status = args.run(args) or 0
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of the pipe, such as head, has closed it; Python must not try to flush to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except InputError as error:
        print(f"fairseq-posenc {args.command}: error: {in_flags(str(error))}", file=sys.stderr)
        return 2
