"""Renamed flags: the old name keeps working, with a note that names the new one."""

import argparse
import sys


def add_old_name(parser, flag, new):
    """Add the values of the old ``flag`` to the list of ``new``, with a note on stderr."""

    class OldName(argparse.Action):
        def __call__(self, parser, namespace, values, option_string=None):
            print(f"{parser.prog}: note: {flag} is now {new}", file=sys.stderr)
            setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or ()), *values])

    dest = new.lstrip("-").replace("-", "_")
    parser.add_argument(flag, dest=dest, action=OldName, nargs="+", help=argparse.SUPPRESS)
