"""Join consecutive sentences: all single lines of INPUT, then its pairs of lines, and so on up to eight at a time.

Groups do not overlap, and a last group that is too small is left out, so every line of the k-th part holds k sentences.
"""

import argparse
from pathlib import Path

from examples.common.command_line import run_main
from fairseq_posenc.scoring.text import read_lines

MOST = 8


def joined(lines, most=MOST):
    """The lines, then non-overlapping groups of 2, 3, .. ``most`` lines joined with a space."""
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
    partial = args.output.with_name(args.output.name + ".partial")
    partial.write_bytes(text.encode())
    partial.replace(args.output)


if __name__ == "__main__":
    run_main(main)
