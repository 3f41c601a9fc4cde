"""Reads the held-out sets, newstest2013 and newstest2014, from sacreBLEU's archives or from plain text."""

import gzip
import re
import tarfile
import zlib
from collections import defaultdict
from pathlib import Path

from examples.wmt14.corpus import sources
from fairseq_posenc.errors import InputError

#: {split: name of its plain text, without the language}.
PLAIN = {"valid": "newstest2013", "test": "newstest2014.{pair}", "test-sacrebleu": "newstest2014.{pair}.sacrebleu"}
SEGMENT = re.compile(r"<seg.*?>(.*)</seg>.*?")


def plain_files(folder, split, pair):
    """The plain-text files of the two languages in the folder, compressed or not; None unless both exist."""
    stem = PLAIN[split].format(pair=pair)
    found = []
    for language in pair.split("-"):
        names = [Path(folder) / f"{stem}.{language}{ending}" for ending in ("", ".gz")]
        found.append(next((path for path in names if path.is_file()), None))
    return None if None in found else found


def read(folder, split, pair):
    """The source and reference sentences of a held-out set, with one space for any white space, as in sacreBLEU.

    Raises:
        InputError: a file cannot be read, or the two sides differ in their number of lines.
    """
    plain = plain_files(folder, split, pair)
    origin = plain[0].parent if plain else Path(folder) / sources.held_out_archive(split).name
    try:
        sides = [read_plain(path) for path in plain] if plain else read_sgml(origin, split, pair)
    except (OSError, EOFError, KeyError, UnicodeDecodeError, tarfile.TarError, zlib.error) as error:
        raise InputError(f"cannot read {split} from {origin}: {error}; fetch the file again") from error
    counts = [len(side) for side in sides]
    if counts[0] != counts[1] or not counts[0]:
        raise InputError(f"{origin}: {split} has {counts[0]} and {counts[1]} sentences; fetch the files again")
    return sides


def read_plain(path):
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        lines = file.read().decode("utf-8").split("\n")
    return [" ".join(line.split()) for line in (lines if lines[-1] else lines[:-1])]


def read_sgml(archive, split, pair):
    with tarfile.open(archive) as members:
        texts = [members.extractfile(name).read().decode("utf-8") for name in sources.held_out_members(split, pair)]
    return [
        [" ".join(SEGMENT.sub(r"\1", line).split()) for line in text.split("\n") if line.startswith("<seg ")]
        for text in texts
    ]


def positions(part, whole):
    """The index in ``whole`` of each sentence pair of ``part``; no index occurs twice.

    Both are (sources, references). Their order may differ, as it does in newstest2014. Raises InputError if a pair is
    not in ``whole``.
    """
    places = defaultdict(list)
    for place, pair in enumerate(zip(*whole)):
        places[pair].append(place)
    found = []
    for pair in zip(*part):
        if not places[pair]:
            raise InputError(f"the full test set lacks a sentence of sacreBLEU's: {pair[0]!r}; fetch both again")
        found.append(places[pair].pop(0))
    return found
