"""Remove sentence pairs with an empty side, a long side, or very different lengths, as Moses' cleaning does.

Lengths are counted in subwords. Reads INPUT.SOURCE and INPUT.TARGET; writes OUTPUT.SOURCE, OUTPUT.TARGET, and
OUTPUT.json with the number of pairs that were kept and removed.
"""

import argparse
import itertools
from contextlib import ExitStack
from pathlib import Path

from tqdm import tqdm

from examples.common.command_line import positive, run_main
from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import write_json
from fairseq_posenc.results import labelled


def verdict(source, target, longest, ratio):
    """Classify a pair by the lengths of its sides: "kept", or why it is removed: "empty", "too long", "ratio"."""
    if not source or not target:
        return "empty"
    if max(source, target) > longest:
        return "too long"
    return "ratio" if max(source, target) > ratio * min(source, target) else "kept"


def clean(prefix, output, source, target, longest, ratio):
    """Write the pairs that are kept; return {verdict: number of pairs}.

    Raises:
        InputError: a file does not exist, the sides differ in their number of lines, or no pair is kept.
    """
    counts = dict.fromkeys(("kept", "empty", "too long", "ratio"), 0)
    sides = [Path(f"{prefix}.{language}") for language in (source, target)]
    partials = [Path(f"{output}.{language}.partial") for language in (source, target)]
    for side in sides:
        if not side.is_file():
            raise InputError(f"cannot read {side}: no such file; run the steps before this one")
    with ExitStack() as files:
        texts = [files.enter_context(open(side, "rb")) for side in sides]
        first, second = (files.enter_context(open(partial, "wb")) for partial in partials)
        pairs = itertools.zip_longest(*texts)
        for pair in tqdm(pairs, desc=f"cleaning {Path(prefix).name}", unit=" pairs", leave=False, disable=None):
            if None in pair:
                raise InputError(f"{sides[0]} and {sides[1]} have different numbers of lines; create both again")
            kind = verdict(*(len(line.split()) for line in pair), longest, ratio)
            counts[kind] += 1
            if kind == "kept":
                first.write(pair[0])
                second.write(pair[1])
    if not counts["kept"]:
        raise InputError(f"no pair of {prefix} has 1 to {longest} subwords and a ratio up to {ratio:g}; check the text")
    for partial, language in zip(partials, (source, target)):
        partial.replace(f"{output}.{language}")
    return counts


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("input", "output", "source", "target"):
        parser.add_argument(name)
    parser.add_argument("--longest", type=positive, default=250, help="most subwords per side (default: %(default)s)")
    parser.add_argument("--ratio", type=float, default=1.5, help="largest ratio of the lengths (default: %(default)s)")
    args = parser.parse_args(argv)
    if args.ratio < 1:
        raise InputError(f"--ratio {args.ratio:g} is below 1, which keeps no pair; the papers use 1.5")
    counts = clean(args.input, args.output, args.source, args.target, args.longest, args.ratio)
    fields = {"longest": args.longest, "ratio": args.ratio, "pairs": counts}
    write_json(f"{args.output}.json", labelled("cleaning", fields))
    print(", ".join(f"{count:,} {kind}" for kind, count in counts.items()))


if __name__ == "__main__":
    run_main(main)
