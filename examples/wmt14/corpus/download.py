"""Fetch WMT14's archives for one language pair into a folder, each from the first mirror that has it.

An interrupted download continues where it stopped. The SHA-256 of what was first fetched, or was already there, is kept
in the file CHECKSUMS; a file that is later another one is refused. Plain text of a held-out set in the folder
(newstest2013.en, newstest2014.en-de.en, ...; .gz or not) takes the place of its archive. Prints name, bytes and SHA-256
of each file; progress goes to standard error.
"""

import argparse

from examples.common.command_line import run_main
from examples.common.fetch import add_fetch_arguments, fetch_all
from examples.wmt14.corpus import held_out, sources


def needed(pair, folder):
    """The archives that the folder must hold: all but those whose held-out text lies there as plain text."""
    replaced = {
        sources.held_out_archive(split) for split in sources.HELD_OUT if held_out.plain_files(folder, split, pair)
    }
    return [archive for archive in sources.archives(pair) if archive not in replaced]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pair", choices=sorted(sources.TRAINING))
    add_fetch_arguments(parser, sources.MIRRORS)
    args = parser.parse_args(argv)
    fetch_all(needed(args.pair, args.folder), args, sources.MIRRORS)


if __name__ == "__main__":
    run_main(main)
