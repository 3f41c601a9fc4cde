"""Divides documents into training, validation and test text, and writes OUTPUT/SPLIT.jsonl.

Each line of these files is one document, {"name": .., "text": ..}.
"""

import hashlib
import json

from tqdm import tqdm

from examples.common.command_line import positive
from examples.common.files import folder_at_once
from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import write_json
from fairseq_posenc.results import labelled

SPLITS = ("train", "valid", "test")
#: At most this share of the text becomes validation text, and the same share test text.
SHARE = 0.05


def add_options(parser):
    """Add the options for the amount of held-out text and of training text."""
    for option, default, meaning in (
        ("--held-out", 400_000, "characters of validation text, and of test text (default: %(default)s)"),
        ("--long", 32_768, "documents of at least N characters are held out first (default: %(default)s)"),
        ("--limit", None, "characters of training text (default: all)"),
    ):
        parser.add_argument(option, type=positive, default=default, metavar="N", help=meaning)


def order(name):
    """A sort key: the order of documents depends only on their names, but is not alphabetical."""
    return hashlib.sha256(name.encode()).hexdigest()


def assign(sizes, held_out, long):
    """{name: split} for documents {name: number of characters}.

    valid and test each get whole documents until they have ``held_out`` characters, or SHARE of the text if this is
    less: first those of at least ``long`` characters, ordered by a hash of their names, then the longest others.

    Raises:
        InputError: there are fewer than three documents, or none is left for training.
    """
    if len(sizes) < 3:
        raise InputError(
            f"{len(sizes)} document(s) cannot be divided into training, validation and test text; give three or more, "
            "or name the files train.*, valid.* and test.*"
        )
    candidates = sorted((name for name in sizes if sizes[name] >= long), key=order)
    candidates += sorted((name for name in sizes if sizes[name] < long), key=lambda name: (-sizes[name], order(name)))
    wanted = min(held_out, SHARE * sum(sizes.values()))
    splits = dict.fromkeys(sizes, "train")
    remaining = iter(candidates)
    for split in ("test", "valid"):
        taken = 0
        while taken == 0 or taken < wanted:
            name = next(remaining)
            splits[name] = split
            taken += sizes[name]
    if "train" not in splits.values():
        raise InputError("there are too few documents: none is left for training; give more")
    return splits


def write(output, splits, read, extra=None, limit=None):
    """Write OUTPUT/SPLIT.jsonl for every split that has documents, and OUTPUT/counts.json.

    Args:
        output: Path of a folder; an error leaves it as it was.
        splits: {name: split}.
        read: function from a name to the text of the document.
        extra: further fields of counts.json.
        limit: the training text ends with the document that brings it to this number of characters.
    """
    counts = {}
    with folder_at_once(output) as partial:
        for split in SPLITS:
            names = sorted((name for name in splits if splits[name] == split), key=order)
            if not names:
                continue
            documents = characters = 0
            digest = hashlib.sha256()
            with open(partial / f"{split}.jsonl", "w", encoding="utf-8", newline="\n") as file:
                for name in tqdm(names, desc=f"{split} text", unit=" documents", leave=False, disable=None):
                    if limit is not None and split == "train" and characters >= limit:
                        break
                    text = read(name)
                    line = json.dumps({"name": name, "text": text}, ensure_ascii=False) + "\n"
                    file.write(line)
                    digest.update(line.encode())
                    documents += 1
                    characters += len(text)
            counts[split] = {"documents": documents, "characters": characters, "sha256": digest.hexdigest()}
        write_json(partial / "counts.json", labelled("corpus", {**(extra or {}), **counts}))
    for split, count in counts.items():
        print(f"{split}: {count['documents']:,} documents, {count['characters']:,} characters")
