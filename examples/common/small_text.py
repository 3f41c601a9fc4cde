"""Write a small corpus of one language pair: OUTPUT/{train,valid,test}.LANGUAGE.

multi30k    the captions of Multi30k, from .gz files
newstest    newstest2008-2012 for training, 2013 for validation and 2014 as the test, from .gz files
grammar     sentences from the quickstart's grammar
"""

import argparse
import gzip
import zlib
from pathlib import Path

from examples.common import multi30k
from examples.common.command_line import positive, run_main
from examples.common.files import folder_at_once
from examples.common.grammar import corpus as grammar
from fairseq_posenc.errors import InputError

CORPORA = ("multi30k", "newstest", "grammar")
SPLITS = ("train", "valid", "test")


def newstest_files(pair):
    """{SPLIT.LANGUAGE: names of its .gz files, in the order of the text}."""
    return {
        f"{split}.{language}": [f"{name}.{language}.gz" for name in names]
        for language in pair.split("-")
        for split, names in {
            "train": [f"newstest{year}" for year in range(2008, 2013)],
            "valid": ["newstest2013"],
            "test": [f"newstest2014.{pair}"],
        }.items()
    }


def write_newstest(data, pair, folder):
    """Unpack newstest2008-2014; raise InputError if a file is missing or damaged, or if two sides do not match."""
    files = newstest_files(pair)
    missing = sorted(name for names in files.values() for name in names if not (data / name).is_file())
    if missing:
        raise InputError(f"--data {data} lacks {', '.join(missing)}; give the folder of newstest's .gz files")
    texts = {}
    for archive in dict.fromkeys(name for names in files.values() for name in names):
        try:
            texts[archive] = gzip.decompress((data / archive).read_bytes())
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"cannot read {data / archive}: {error}; fetch the file again") from error
    for split in SPLITS:
        sides = [files[f"{split}.{language}"] for language in pair.split("-")]
        # File by file: the sums of the lines may agree where those of two files do not.
        for source, target in zip(*sides):
            counts = [texts[name].count(b"\n") for name in (source, target)]
            if counts[0] != counts[1] or not counts[0]:
                raise InputError(f"{data}: {source} has {counts[0]} lines, {target} {counts[1]}; fetch both again")
    for name, archives in files.items():
        (folder / name).write_bytes(b"".join(texts[archive] for archive in archives))


def write_grammar(folder, seed=1, most=None):
    """Write the corpus that the grammar draws with a seed; ``most`` cuts it to as many training pairs and 30 others."""
    parts = grammar.corpus(seed)
    if most is not None:
        parts = {split: pairs[: most if split == "train" else 30] for split, pairs in parts.items()}
    grammar.write(parts, folder)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", choices=CORPORA)
    parser.add_argument("pair", choices=("en-de", "en-fr"))
    parser.add_argument("output", type=Path)
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the .gz files")
    parser.add_argument("--url", default=multi30k.URL, help="where Multi30k is downloaded from without --data")
    parser.add_argument("--seed", type=positive, default=1, help="seed of the grammar (default: 1)")
    parser.add_argument("--most", type=positive, metavar="N", help="training sentences from the grammar (default: all)")
    args = parser.parse_args(argv)
    if args.corpus == "multi30k":
        if args.data is None:
            args.data = multi30k.FOLDER
            multi30k.download(args.pair, args.data, args.url)
        multi30k.check_folder(args.data, args.pair)
    elif args.corpus == "newstest" and args.data is None:
        raise InputError("newstest cannot be downloaded; give --data DIR with newstest2008.en.gz and so on")
    elif args.corpus == "grammar" and args.data is not None:
        raise InputError(
            f"--data {args.data} does not apply to the grammar, which generates its own text; leave it out"
        )
    with folder_at_once(args.output) as folder:
        if args.corpus == "multi30k":
            multi30k.write(args.data, args.pair, folder)
        elif args.corpus == "newstest":
            write_newstest(args.data, args.pair, folder)
        else:
            write_grammar(folder, args.seed, args.most)


if __name__ == "__main__":
    run_main(main)
