"""What the command lines of the recipes share."""

import argparse
import signal
import sys
from pathlib import Path

from examples.common.commands import CommandFailed
from fairseq_posenc.errors import InputError


def run_main(main):
    """Run a program. Bad input ends it with one line and status 2, Ctrl-C with one line and status 130."""
    try:
        main()
    except InputError as error:
        print(f"{Path(sys.argv[0]).name}: error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(f"{Path(sys.argv[0]).name}: interrupted; run the same command again to repeat this step", file=sys.stderr)
        sys.exit(130)


def run_script(scripts):
    """Run the function of a recipe's script, which calls ``python -m examples.RECIPE SCRIPT [ARGUMENT]...``.

    Args:
        scripts: {name of the script without .sh: function of its list of arguments}.
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
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that commands end too. A signal that nohup ignores stays ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def print_end(name, message, status):
    """Print a message, unless it is empty, and return the status. Status 130, an interruption, is no error."""
    if str(message):
        print(f"{name}: {'' if status == 130 else 'error: '}{message}", file=sys.stderr)
    return status


def workers_option(parser):
    """Add --workers."""
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="number of processes (default: 1)")


def positive(argument):
    """argparse type for whole numbers above 0."""
    if not argument.isdecimal() or int(argument) < 1:
        raise argparse.ArgumentTypeError(f"{argument} is not a whole number above 0")
    return int(argument)
