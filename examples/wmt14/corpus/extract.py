"""Extract WMT14's text for one language pair from the archives in a folder.

Writes OUTPUT/{train,valid,test}.LANGUAGE, one sentence per line; OUTPUT/test-sacrebleu.lines, the line numbers (from
1) in the test set of the sentences of sacreBLEU's "wmt14"; and OUTPUT/counts.json, the number of sentences per part.
"""

import argparse
import gzip
import sys
import tarfile
import zlib
from pathlib import Path

from tqdm import tqdm

from examples.common.command_line import run_main
from examples.common.files import folder_at_once
from examples.wmt14.corpus import held_out, sources
from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import write_json
from fairseq_posenc.results import labelled

KNOWN_SIZES = {"valid": {3000}, "test": {3003}, "test-sacrebleu": {2737, 3003}}
BLOCK = 1 << 20


def training_text(pair, folder, output):
    """Append the parts of the training text to output/train.LANGUAGE; return {member: number of pairs}.

    Raises InputError if an archive cannot be read or lacks a part, or if the two sides of a part differ in length.
    """
    counts = {}
    for part in sources.TRAINING[pair]:
        path = folder / part.archive.name
        try:
            lines = append_members(part, path, pair, output)
        except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
            raise InputError(f"cannot read {path}: {error}; remove it and run again to fetch it") from error
        if len(lines) < 2:
            raise InputError(
                f"{path} lacks {part.member.format('LANGUAGE')} of {pair}; remove it and run again to fetch it"
            )
        first, second = (lines[language] for language in pair.split("-"))
        if first != second or not first:
            raise InputError(
                f"{path}: {part.member} has {first:,} and {second:,} lines; remove it and run again to fetch it"
            )
        if first != part.pairs:
            warn(f"{part.member} has {first:,} pairs; expected {part.pairs:,}")
        counts[part.member] = first
    return counts


def append_members(part, path, pair, output):
    """Append the sides of a part that the archive has; return {language: number of lines}."""
    wanted = {part.member.format(language): language for language in pair.split("-")}
    lines = {}
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            language = wanted.get(member.name[2:] if member.name.startswith("./") else member.name)
            if language is None:
                continue
            packed = archive.extractfile(member)
            with gzip.open(packed) if member.name.endswith(".gz") else packed as text:
                lines[language] = append(text, output / f"train.{language}", member.name)
    return lines


def append(text, path, title):
    """Append a binary stream to a file, with a line feed at its end; return the number of lines."""
    lines, last = 0, b"\n"
    with open(path, "ab") as file, tqdm(desc=title, unit="B", unit_scale=True, leave=False, disable=None) as progress:
        while block := text.read(BLOCK):
            file.write(block)
            lines += block.count(b"\n")
            last = block[-1:]
            progress.update(len(block))
        if last != b"\n":
            file.write(b"\n")
            lines += 1
    return lines


def held_out_text(pair, folder, output):
    """Write the held-out sets; return {split: number of sentences}."""
    counts, texts = {}, {}
    for split in sources.HELD_OUT:
        texts[split] = held_out.read(folder, split, pair)
        counts[split] = len(texts[split][0])
        if counts[split] not in KNOWN_SIZES[split]:
            warn(f"{split} has {counts[split]:,} sentences; {' or '.join(map(str, KNOWN_SIZES[split]))} expected")
        if split in ("valid", "test"):
            for language, lines in zip(pair.split("-"), texts[split]):
                (output / f"{split}.{language}").write_bytes("".join(f"{line}\n" for line in lines).encode())
    places = held_out.positions(texts["test-sacrebleu"], texts["test"])
    (output / "test-sacrebleu.lines").write_text("".join(f"{place + 1}\n" for place in places))
    return counts


def warn(message):
    print(f"extract.py: warning: {message}", file=sys.stderr)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pair", choices=sorted(sources.TRAINING))
    parser.add_argument("folder", type=Path, help="folder with the archives")
    parser.add_argument("output", type=Path)
    args = parser.parse_args(argv)
    with folder_at_once(args.output) as partial:
        counts = training_text(args.pair, args.folder, partial)
        sentences = held_out_text(args.pair, args.folder, partial)
        write_json(
            partial / "counts.json", labelled("corpus", {"training_pairs": counts, "held_out_sentences": sentences})
        )
    print(f"{sum(counts.values()):,} training pairs")


if __name__ == "__main__":
    run_main(main)
