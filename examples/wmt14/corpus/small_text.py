"""The text of the small scales for one language pair.

Writes OUTPUT/{train,valid,test}.LANGUAGE: Multi30k's captions; newstest2008-2012 for training, 2013 for validation and
2014 as test; or a little of the quickstart's grammar. The first two come from the .gz files in a folder.
"""

import argparse
import gzip
import shutil
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "examples" / "common"), str(ROOT / "examples" / "quickstart")]
import corpora  # noqa: E402 (scripts of other folders, which are no packages)
from command_line import run_main  # noqa: E402

from fairseq_posenc.errors import InputError  # noqa: E402

CORPORA = ("multi30k", "newstest", "grammar")
GRAMMAR_SENTENCES = {"train": 1000, "valid": 30, "test": 30}
SPLITS = tuple(GRAMMAR_SENTENCES)


def newstest_files(pair):
    """{split.language: names of the .gz files in the order of the text}."""
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
    """Unpack newstest2008-2014; raise InputError where a file is missing or damaged, or two sides do not match."""
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
        # File by file, not in sum: two wrong numbers of lines may make a right one.
        for source, target in zip(*sides):
            counts = [texts[name].count(b"\n") for name in (source, target)]
            if counts[0] != counts[1] or not counts[0]:
                raise InputError(f"{data}: {source} has {counts[0]} lines, {target} {counts[1]}; fetch both again")
    for name, archives in files.items():
        (folder / name).write_bytes(b"".join(texts[archive] for archive in archives))


def write_grammar(folder):
    """Write the first sentences of each part of the grammar's corpus."""
    corpora.write_grammar(1, folder)
    for split, count in GRAMMAR_SENTENCES.items():
        for language in ("en", "de"):
            path = folder / f"{split}.{language}"
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:count]))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", choices=CORPORA)
    parser.add_argument("pair", choices=("en-de", "en-fr"))
    parser.add_argument("output", type=Path)
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the .gz files")
    args = parser.parse_args(argv)
    languages = args.pair.split("-")
    if args.corpus == "multi30k":
        names = corpora.multi30k_files(*languages)
        if args.data is None:
            args.data = ROOT / "data" / "multi30k"
            corpora.download(corpora.MULTI30K_URL, names, args.data)
        corpora.check_folder(args.data, names)
    elif args.corpus == "newstest" and args.data is None:
        raise InputError("newstest has no download here; give --data DIR with newstest2008.en.gz and so on")
    elif args.corpus == "grammar" and args.data is not None:
        raise InputError(f"--data {args.data} is of no use to the grammar, which makes its own text; leave it out")
    partial = args.output.with_name(args.output.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    if args.corpus == "multi30k":
        corpora.write_multi30k(args.data, *languages, partial)
    elif args.corpus == "newstest":
        write_newstest(args.data, args.pair, partial)
    else:
        write_grammar(partial)
    shutil.rmtree(args.output, ignore_errors=True)
    partial.rename(args.output)


if __name__ == "__main__":
    run_main(main)
