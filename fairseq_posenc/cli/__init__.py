"""``fairseq-posenc COMMAND``: one module of this package a command.

A command module offers ``add_arguments(parser)`` and ``run(args)``, which returns the exit
status (or None for 0). Modules are imported only when their command runs, so that ``fairseq-posenc --help`` is instant.
"""

import argparse
import importlib
import os
import sys

from fairseq_posenc import __version__
from fairseq_posenc.errors import InputError

COMMANDS = {
    "list": ("fairseq_posenc.cli.list_encodings", "list the positional encodings and their properties"),
    "doctor": ("fairseq_posenc.cli.doctor", "check the installation; name what is missing and the cure"),
    "average": ("fairseq_posenc.cli.average", "average checkpoints of one training"),
    "score": ("fairseq_posenc.cli.score", "BLEU, chrF++, tokenised BLEU and paired significance of translations"),
    "grain": ("fairseq_posenc.cli.grain", "the gap between systems as the n-gram grain of the score grows"),
    "lengths": ("fairseq_posenc.cli.lengths", "BLEU and chrF++ by the length of the source sentence"),
    "extrapolate": ("fairseq_posenc.cli.extrapolate", "perplexity of language models by the length of text they read"),
    "resolution": ("fairseq_posenc.cli.resolution", "how well attention tells distances apart"),
    "receptive-field": (
        "fairseq_posenc.cli.receptive_field",
        "which tokens predictions depend on, and biases with fits",
    ),
    "bench": ("fairseq_posenc.cli.bench", "speed and memory of encodings relative to stock fairseq, or of patterns"),
    "gpu-check": ("fairseq_posenc.cli.gpu_check", "what to run first on a GPU: parity with the CPU, kernels, speed"),
    "plot": ("fairseq_posenc.cli.plot", "figures of saved results: PNG, PDF, and TSV with the numbers"),
    "draw": ("fairseq_posenc.cli.draw", "figures of what encodings do at every distance"),
}


def renamed(argv):
    """The words of a command that had another name, which is told."""
    if argv[:1] != ["bench-patterns"]:
        return argv
    print("fairseq-posenc bench-patterns: the new name is: fairseq-posenc bench --patterns", file=sys.stderr)
    # Its measure "time" is now "forward", as that of other models.
    measures = {number + 1 for number, word in enumerate(argv) if word == "--measure"}
    words = [
        word.replace("time", "forward") if number in measures or word.startswith("--measure=") else word
        for number, word in enumerate(argv)
    ][1:]
    patterns = any(word == "--patterns" or word.startswith("--patterns=") for word in words)
    return ["bench", *([] if patterns else ["--patterns"]), *words]


def main(argv=None):
    """Run one command; return its exit status (2 for bad input, printed as one line)."""
    argv = renamed(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="fairseq-posenc", description="Positional encodings for fairseq.")
    parser.add_argument("--version", action="version", version=f"fairseq-posenc {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = next((word for word in argv if not word.startswith("-")), None)
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
        status = args.run(args) or 0
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Who reads, such as head, has had enough; nothing may be left for Python to write at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except InputError as error:
        print(f"fairseq-posenc {args.command}: error: {error}", file=sys.stderr)
        return 2
