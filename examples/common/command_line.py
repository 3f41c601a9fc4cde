"""Shared code of the recipes' command lines."""

import argparse
import signal
import sys
from pathlib import Path

from examples.common.engine import CommandFailed
from fairseq_posenc.errors import InputError


def run_main(main):
    """Run a program; bad input is one line and exit status 2, Ctrl-C status 130 without a traceback."""
    try:
        main()
    except InputError as error:
        print(f"{Path(sys.argv[0]).name}: error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(f"{Path(sys.argv[0]).name}: interrupted; run the same command again to repeat this step", file=sys.stderr)
        sys.exit(130)


def run_script(scripts):
    """Run a step of a recipe as its script calls it, ``python -m examples.RECIPE SCRIPT [ARGUMENT]...``.

    Args:
        scripts: {name of a script, without .sh: function of the list of its arguments}.
    """
    name = f"{sys.argv[1]}.sh"
    end_as_interrupted()
    try:
        scripts[sys.argv[1]](sys.argv[2:])
    except InputError as error:
        sys.exit(print_end(name, error, 2))
    except CommandFailed as error:
        sys.exit(print_end(name, error, error.status))
    except KeyboardInterrupt:
        sys.exit(print_end(name, "interrupted; run the same command again to continue", 130))


def end_as_interrupted():
    """Treat SIGTERM and SIGHUP as Ctrl-C, so that commands end too; signals ignored by nohup stay ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def print_end(name, message, status):
    """Print a message unless it is empty, as an error unless the run was interrupted; return the status."""
    if str(message):
        print(f"{name}: {'' if status == 130 else 'error: '}{message}", file=sys.stderr)
    return status


def workers_option(parser):
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="processes (default: 1)")


def positive(word):
    """argparse type of whole numbers above 0."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word} is not a whole number above 0")
    return int(word)
