"""Fetch WMT14's archives for one language pair into a folder, each from the first mirror that has it.

An interrupted download continues where it stopped. The SHA-256 of what was first fetched, or was already there, is kept
in the file CHECKSUMS; a file that is later another one is refused. Plain text of a held-out set in the folder
(newstest2013.en, newstest2014.en-de.en, ...; .gz or not) takes the place of its archive. Prints name, bytes and SHA-256
of each file; what goes on is told on standard error.
"""

import argparse
from pathlib import Path

from examples.common.command_line import run_main
from examples.common.fetch import fetch
from examples.wmt14.corpus import held_out, sources
from fairseq_posenc.errors import InputError


def needed(pair, folder):
    """The archives that the folder must hold: all but those whose held-out text lies there as plain text."""
    replaced = {
        sources.held_out_archive(split) for split in sources.HELD_OUT if held_out.plain_files(folder, split, pair)
    }
    return [archive for archive in sources.archives(pair) if archive not in replaced]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pair", choices=sorted(sources.TRAINING))
    parser.add_argument("folder", type=Path)
    parser.add_argument("checksums", type=Path, help="file that keeps the SHA-256 of each archive")
    parser.add_argument("--no-download", action="store_true", help="the files are there: only check them")
    parser.add_argument(
        "--mirror",
        action="append",
        default=[],
        metavar="URL",
        help=f"tried before {', '.join(sources.MIRRORS)}; repeat for more; file:// works too",
    )
    args = parser.parse_args(argv)
    archives = needed(args.pair, args.folder)
    missing = [archive.name for archive in archives if not (args.folder / archive.name).is_file()]
    if args.no_download and missing:
        raise InputError(f"--data {args.folder} lacks {', '.join(missing)}; leave --data out to download them")
    for folder in (args.folder, args.checksums.parent):
        folder.mkdir(parents=True, exist_ok=True)
    for archive in archives:
        record = fetch(archive, args.folder, args.checksums, [*args.mirror, *sources.MIRRORS])
        print(archive.name, record["bytes"], record["sha256"])


if __name__ == "__main__":
    run_main(main)
