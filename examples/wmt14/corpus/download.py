"""Download WMT14's archives for one language pair to a folder, each from the first mirror that has it.

An interrupted download resumes where it stopped. The file CHECKSUMS records the SHA-256 of each archive when it is
first seen; an archive that changes later is refused. Plain text of a held-out set in the folder (newstest2013.en,
newstest2014.en-de.en, ...; .gz or not) replaces its archive. Prints name, bytes and SHA-256 of each file; progress
goes to standard error.
"""

import argparse

from examples.common.command_line import run_main
from examples.common.fetch import add_fetch_arguments, fetch_all
from examples.wmt14.corpus import held_out, sources


def needed(pair, folder):
    """The archives that the folder must contain: all but those of held-out sets that are there as plain text."""
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
