"""Join a share of the training sentences: each group of 2, 3 or 4 is followed by as many single sentences.

So half of the sentences are in groups of consecutive ones, and each sentence occurs once: an epoch has as many words as
before. A group ends early if another sentence would make a side longer than LONGEST subwords. Reads INPUT.SOURCE and
INPUT.TARGET; writes OUTPUT.SOURCE and OUTPUT.TARGET.
"""

import argparse
import itertools
from contextlib import ExitStack
from pathlib import Path

from examples.common.command_line import positive, run_main
from examples.common.files import file_at_once
from fairseq_posenc.errors import InputError

#: Test sentences are up to eight joined ones, so that many of them are longer than these.
GROUPS = (2, 3, 4)
#: Sentences of the next line, over and over.
SIZES = tuple(size for group in GROUPS for size in (group, *[1] * group))


def joined_training(pairs, longest):
    """Yield the pairs of sentences, tuples of bytes without an end of line, with groups of them joined."""
    pairs, sizes = iter(pairs), itertools.cycle(SIZES)
    waiting = next(pairs, None)
    while waiting is not None:
        line, waiting = waiting, next(pairs, None)
        for _ in range(next(sizes) - 1):
            if waiting is None:
                break
            both = tuple(b" ".join(sides) for sides in zip(line, waiting))
            if max(len(side.split()) for side in both) > longest:
                break
            line, waiting = both, next(pairs, None)
        yield line


def read_pairs(paths):
    """Yield the lines of two files; raise InputError if one cannot be read, or has fewer lines than the other."""
    with ExitStack() as files:
        try:
            texts = [files.enter_context(open(path, "rb")) for path in paths]
        except OSError as error:
            raise InputError(f"cannot read {error.filename}: {error.strerror}; run the steps before this one") from None
        for pair in itertools.zip_longest(*texts):
            if None in pair:
                raise InputError(f"{paths[0]} and {paths[1]} have different numbers of lines; create both again")
            yield tuple(line.rstrip(b"\n") for line in pair)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("input", "output", "source", "target"):
        parser.add_argument(name)
    parser.add_argument("--longest", type=positive, default=250, help="most subwords per side (default: %(default)s)")
    args = parser.parse_args(argv)
    languages = (args.source, args.target)
    pairs = read_pairs([Path(f"{args.input}.{language}") for language in languages])
    with ExitStack() as files:
        outputs = [files.enter_context(file_at_once(Path(f"{args.output}.{language}"))) for language in languages]
        for line in joined_training(pairs, args.longest):
            for output, side in zip(outputs, line):
                output.write(side + b"\n")


if __name__ == "__main__":
    run_main(main)
