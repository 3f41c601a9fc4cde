"""What the command lines of the recipes' scripts share."""

import argparse
import sys
from pathlib import Path

from fairseq_posenc.errors import InputError


def run_main(main):
    """Run a program; bad input is one line and exit status 2, Ctrl-C status 130 without a traceback."""
    try:
        main()
    except InputError as error:
        print(f"{Path(sys.argv[0]).name}: error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(f"{Path(sys.argv[0]).name}: interrupted; the same command starts this step again", file=sys.stderr)
        sys.exit(130)


def workers_option(parser):
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="processes (default: 1)")


def positive(word):
    """The whole number above 0 that a word is; for argparse."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word} is not a whole number above 0")
    return int(word)
