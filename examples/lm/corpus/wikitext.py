"""Download an archive of WikiText-103, or write its text.

  wikitext.py fetch {articles,words} FOLDER CHECKSUMS     download the archive to a folder, or check the one there
  wikitext.py articles FOLDER OUTPUT                      articles as documents: OUTPUT/{train,valid,test}.jsonl
  wikitext.py words FOLDER OUTPUT                         the original lines of words: OUTPUT/{train,valid,test}.words

"words" is the text of the published perplexities, with <unk> for rare words. "articles" is the text before this
replacement, for subwords. The published SHA-256 of the archives is checked.
"""

import argparse
import io
import re
import sys
import zipfile
import zlib
from pathlib import Path

from tqdm import tqdm

from examples.common.command_line import run_main
from examples.common.fetch import Archive, add_fetch_arguments, fetch_all
from examples.common.files import folder_at_once
from examples.lm.corpus import splits
from fairseq_posenc.errors import InputError

#: The author's site. Salesforce's, which older recipes name, is closed.
MIRRORS = ("https://wikitext.smerity.com",)
ARCHIVES = {
    "articles": Archive(
        "wikitext-103-raw-v1.zip", sha256="91c00ae287f0d699e18605c84afc9e45c192bc6b7797ff8837e5474655a33794"
    ),
    "words": Archive("wikitext-103-v1.zip", sha256="242ba0f20b329cfdf1ccc61e9e9e5b59becf189db7f7a81cd2a0e2fc31539590"),
}
MEMBERS = {"articles": "wikitext-103-raw/wiki.{}.raw", "words": "wikitext-103/wiki.{}.tokens"}
#: Words and line ends of the held-out text; published perplexities count both.
TOKENS = {"valid": 217_646, "test": 245_569}
TITLE = re.compile(r" = [^=].*[^=] = \n|\Z")


def members(kind, folder):
    """Yield the name and the lines of each split. Raises InputError if the archive cannot be read."""
    path = folder / ARCHIVES[kind].name
    try:
        with zipfile.ZipFile(path) as archive:
            for split in splits.SPLITS:
                with archive.open(MEMBERS[kind].format(split)) as file:
                    lines = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
                    yield split, tqdm(lines, desc=f"{split} text", unit=" lines", leave=False, disable=None)
    except (OSError, KeyError, zipfile.BadZipFile, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}; remove it and run again to fetch it") from error


def articles(lines):
    """The articles in these lines. Each begins with a title, a line with one equals sign at either end."""
    article = []
    for line in lines:
        if TITLE.fullmatch(line) and any(part.strip() for part in article):
            yield "".join(article).strip("\n ") + "\n"
            article = []
        article.append(line)
    if any(part.strip() for part in article):
        yield "".join(article).strip("\n ") + "\n"


def write_articles(folder, output):
    texts = {}
    for split, lines in members("articles", folder):
        for number, text in enumerate(articles(lines), 1):
            texts[f"{split}/{number:05}"] = text
    splits.write(output, {name: name.split("/")[0] for name in texts}, texts.get)


def write_words(folder, output):
    with folder_at_once(output) as partial:
        for split, lines in members("words", folder):
            tokens = 0
            with open(partial / f"{split}.words", "w", encoding="utf-8", newline="\n") as file:
                for line in lines:
                    file.write(line)
                    tokens += len(line.split()) + 1
            if tokens != TOKENS.get(split, tokens):
                print(f"wikitext.py: warning: {split} has {tokens:,} words, not {TOKENS[split]:,}", file=sys.stderr)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    fetching = commands.add_parser("fetch", help="download or check the archive")
    fetching.add_argument("kind", choices=sorted(ARCHIVES))
    add_fetch_arguments(fetching, MIRRORS)
    for kind in ARCHIVES:
        writing = commands.add_parser(kind, help="write the text")
        writing.add_argument("folder", type=Path, help="folder with the archive")
        writing.add_argument("output", type=Path)
    args = parser.parse_args(argv)
    if args.command != "fetch":
        {"articles": write_articles, "words": write_words}[args.command](args.folder, args.output)
        return
    fetch_all([ARCHIVES[args.kind]], args, MIRRORS)


if __name__ == "__main__":
    run_main(main)
