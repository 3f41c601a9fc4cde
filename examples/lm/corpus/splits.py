"""Documents as training, validation and test text: which goes where, and the files OUTPUT/SPLIT.jsonl.

A line of such a file is one document, {"name": .., "text": ..}.
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
#: The largest share of the text that is held out, for each of the two splits.
SHARE = 0.05


def add_options(parser):
    """Add the options that say what is held out, and how much there is to train on."""
    for option, default, meaning in (
        ("--held-out", 400_000, "characters of validation and of test text (default: %(default)s)"),
        ("--long", 32_768, "characters of a document that is best held out (default: %(default)s)"),
        ("--limit", None, "characters of training text (default: all)"),
    ):
        parser.add_argument(option, type=positive, default=default, metavar="N", help=meaning)


def order(name):
    """A key that puts documents in an order that depends on nothing but their names, and not on how they begin."""
    return hashlib.sha256(name.encode()).hexdigest()


def assign(sizes, held_out, long):
    """{name: split} for documents {name: number of characters}.

    ``held_out`` characters, and no more than SHARE of the text, go to each of valid and test, as whole documents: those
    of at least ``long`` characters in the order of a hash of their names, then, where these are too few, the longest.

    Raises:
        InputError: fewer than three documents.
    """
    if len(sizes) < 3:
        raise InputError(
            f"{len(sizes)} document(s) cannot be divided into training, validation and test text; give three or more, "
            "or say which is which by names train.*, valid.*, test.*"
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
    """Write OUTPUT/SPLIT.jsonl for every split that has documents, and OUTPUT/counts.json, all or nothing.

    Args:
        output: Path of a folder.
        splits: {name: split}.
        read: function from a name to the text of the document.
        extra: further fields of counts.json.
        limit: training text stops after the document with which it reaches so many characters.
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
