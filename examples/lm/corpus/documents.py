"""Write the documents of a folder as training, validation and test text: OUTPUT/{train,valid,test}.jsonl.

Every file below the folder is one document: UTF-8 text, compressed with gzip if its name ends in .gz. Hidden and empty
files are skipped. Files named train.*, valid.* or test.*, or in folders train, valid and test, belong to this split.
Without these names, whole documents are held out, always the same ones.
"""

import argparse
import gzip
import zlib
from pathlib import Path

from tqdm import tqdm

from examples.common.command_line import run_main
from examples.lm.corpus import splits
from fairseq_posenc.errors import InputError


def find(folder):
    """The names of the documents: paths relative to the folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    names = [path.relative_to(folder) for path in paths]
    found = [str(name) for name in names if not any(part.startswith(".") for part in name.parts)]
    if not found:
        raise InputError(f"{folder} has no files; give a folder with one text file per document")
    return found


def read(folder, name):
    """The text of one document, with line feeds as line ends."""
    path = folder / name
    try:
        content = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}); convert it or take it out") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}; repair it or take it out") from None


def named_split(name):
    """The split that the name of the file or of its folder says, or None."""
    return next((split for split in splits.SPLITS if name.startswith((f"{split}.", f"{split}/"))), None)


def divide(folder, sizes, held_out, long):
    """{name: split}. Raises InputError if only some names say their split, or if a split has no document."""
    named = {name: named_split(name) for name in sizes}
    if not any(named.values()):
        return splits.assign(sizes, held_out, long)
    unnamed = next((name for name, split in named.items() if split is None), None)
    if unnamed is not None:
        raise InputError(
            f"{folder}: some files are named train.*, valid.* or test.*, but {unnamed} is not; name all or none"
        )
    empty = next((split for split in splits.SPLITS if split not in named.values()), None)
    if empty is not None:
        raise InputError(f"{folder} has no document {empty}.*, though others name their split; add one, or name none")
    return named


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    splits.add_options(parser)
    parser.add_argument("--test-only", action="store_true", help="all documents are test text")
    args = parser.parse_args(argv)
    names = tqdm(find(args.folder), desc="documents", leave=False, disable=None)
    sizes = {name: len(read(args.folder, name)) for name in names}
    sizes = {name: size for name, size in sizes.items() if size}
    if not sizes:
        raise InputError(f"{args.folder} has only empty files; give one text file per document")
    where = dict.fromkeys(sizes, "test") if args.test_only else divide(args.folder, sizes, args.held_out, args.long)
    splits.write(args.output, where, lambda name: read(args.folder, name), limit=args.limit)


if __name__ == "__main__":
    run_main(main)
