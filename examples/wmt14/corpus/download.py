"""Fetch WMT14's archives for one language pair into a folder, each from the first mirror that has it.

An interrupted download continues where it stopped. The SHA-256 of what was first fetched, or was already there, is kept
in the file CHECKSUMS; a file that is later another one is refused. Plain text of a held-out set in the folder
(newstest2013.en, newstest2014.en-de.en, ...; .gz or not) takes the place of its archive. Prints name, bytes and SHA-256
of each file; what goes on is told on standard error.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import held_out
import sources
from command_line import run_main
from tqdm import tqdm

from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import write_json

BLOCK = 1 << 20
NO_RESUME = (22, 33, 36)  # curl: the server refused the range, or cannot do ranges, or resuming failed


def needed(pair, folder):
    """The archives that the folder must hold: all but those whose held-out text lies there as plain text."""
    replaced = {
        sources.held_out_archive(split) for split in sources.HELD_OUT if held_out.plain_files(folder, split, pair)
    }
    return [archive for archive in sources.archives(pair) if archive not in replaced]


def recorded(checksums):
    """{file name: {"bytes", "sha256", "from"}} as first seen."""
    try:
        return json.loads(checksums.read_text(encoding="utf-8")) if checksums.exists() else {}
    except ValueError as error:
        raise InputError(f"{checksums} cannot be read ({error}); remove it to record the files anew") from None


def digests(path):
    """SHA-256 and MD5 of a file, in hexadecimal."""
    both = [hashlib.sha256(), hashlib.md5(usedforsecurity=False)]
    size = path.stat().st_size
    progress = tqdm(total=size, desc=f"checking {path.name}", unit="B", unit_scale=True, leave=False, disable=None)
    with open(path, "rb") as file, progress:
        while block := file.read(BLOCK):
            for digest in both:
                digest.update(block)
            progress.update(len(block))
    return [digest.hexdigest() for digest in both]


def verify(path, checksums, name=None, md5=None, origin="already there"):
    """Check a file against its published MD5 and what it was at first, and record it where nothing was; its record.

    Args:
        name: what it is recorded as (default: its own name).

    Raises:
        InputError: the file is another one.
    """
    name = name or path.name
    known = recorded(checksums)
    before = known.get(name)
    cure = f"remove it and run again, and its entry in {checksums} too if the new file is the right one"
    size = path.stat().st_size
    if before and size != before["bytes"]:
        raise InputError(f"{path} has {size:,} bytes but had {before['bytes']:,} at first: cut off or changed; {cure}")
    sha256, found = digests(path)
    if md5 and found != md5:
        raise InputError(f"{path} has MD5 {found}, not {md5}: cut off or another file; remove it and run again")
    if before and sha256 != before["sha256"]:
        raise InputError(f"{path} has SHA-256 {sha256[:12]}... but had {before['sha256'][:12]}... at first; {cure}")
    if not before:
        known[name] = {"bytes": size, "sha256": sha256, "from": origin}
        write_json(checksums, known)
    return known[name]


def fetch(archive, folder, checksums, mirrors):
    """Download one archive unless it is there; its record. Raises InputError where no mirror has it."""
    path, partial = folder / archive.name, folder / (archive.name + ".partial")
    if path.exists():
        return verify(path, checksums, md5=archive.md5)
    reasons = []
    for mirror in mirrors:
        url = f"{mirror.rstrip('/')}/{archive.path}"
        print(f"downloading {url}", file=sys.stderr, flush=True)
        status, message = curl(url, partial)
        if status in NO_RESUME and partial.exists():
            partial.unlink()
            status, message = curl(url, partial)
        if status == 0:
            record = verify(partial, checksums, archive.name, archive.md5, url)
            partial.replace(path)
            return record
        reasons.append(f"{mirror}: {message}")
    raise InputError(
        f"cannot download {archive.name} ({'; '.join(reasons)}); run again to continue, or give the folder with "
        "the files as --data"
    )


def curl(url, partial):
    """Fetch a URL, from the end of what the file holds; return curl's status and what it says of a failure."""
    command = ["curl", "--fail", "--location", "--continue-at", "-", "--retry", "3", "--connect-timeout", "30"]
    command += ["--progress-bar" if sys.stderr.isatty() else "--no-progress-meter", "--output", str(partial), url]
    try:
        # On a terminal curl's progress goes there; elsewhere its message becomes part of ours.
        done = subprocess.run(command, stderr=None if sys.stderr.isatty() else subprocess.PIPE, text=True)
    except FileNotFoundError:
        raise InputError("curl not found; install it, or give a folder with the files as --data") from None
    said = " ".join((done.stderr or "").split()) or f"curl ended with status {done.returncode}"
    return done.returncode, said


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
