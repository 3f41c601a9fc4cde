"""Flags that had another name: the old one works on, and names the new one."""

import argparse
import sys


def add_old_name(parser, flag, new):
    """Take the values of ``flag`` as those of ``new``, a list, with a line on stderr that names it."""

    class OldName(argparse.Action):
        def __call__(self, parser, namespace, values, option_string=None):
            print(f"{parser.prog}: note: {flag} is now {new}", file=sys.stderr)
            setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or ()), *values])

    dest = new.lstrip("-").replace("-", "_")
    parser.add_argument(flag, dest=dest, action=OldName, nargs="+", help=argparse.SUPPRESS)
