"""Join consecutive sentences: write all lines of INPUT, then its lines joined two at a time, and so on up to eight.

Groups do not overlap. The last lines are left out if they are too few for a group, so that each line of the k-th part
has k sentences.
"""

import argparse
from pathlib import Path

from examples.common.command_line import run_main
from examples.common.files import write_at_once
from fairseq_posenc.scoring.text import read_lines

MOST = 8


def joined(lines, most=MOST):
    """The lines, followed by their groups of 2, 3, .. ``most`` lines, each joined with spaces."""
    return [
        " ".join(lines[start : start + size])
        for size in range(1, most + 1)
        for start in range(0, len(lines) - size + 1, size)
    ]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input")
    parser.add_argument("output", type=Path)
    args = parser.parse_args(argv)
    text = "".join(line + "\n" for line in joined(read_lines(args.input)))
    write_at_once(args.output, text)


if __name__ == "__main__":
    run_main(main)
