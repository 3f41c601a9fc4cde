"""Downloads the files of a corpus, each from the first mirror that has it, and checks that they do not change later."""

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from tqdm import tqdm

from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import write_json
from fairseq_posenc.results import labelled

BLOCK = 1 << 20
NO_RESUME = (22, 33, 36)  # curl: the server refused the range, or cannot do ranges, or resuming failed


class WrongFile(InputError):
    """The checksum of a file differs from the published one."""


@dataclass(frozen=True)
class Archive:
    """A file to download: its ``path`` below a mirror, and its MD5 or SHA-256 if published."""

    path: str
    md5: Optional[str] = None
    sha256: Optional[str] = None

    @property
    def name(self):
        return self.path.rsplit("/", 1)[-1]


def recorded(checksums):
    """{file name: {"bytes", "sha256", "from"}}: each file when it was first seen."""
    try:
        record = json.loads(checksums.read_text(encoding="utf-8")) if checksums.exists() else {}
        files = record.get("files", record)  # older records contain only the files
        return {name: {key: file[key] for key in ("bytes", "sha256", "from")} for name, file in files.items()}
    except (AttributeError, LookupError, TypeError, ValueError) as error:
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


def verify(path, checksums, archive, origin="already there"):
    """Check a file against its published checksums and against its record; record it if it is new.

    Args:
        path: Path of the file.
        checksums: Path of the JSON file with the records of all files.
        archive: the Archive that the file should be.
        origin: where a new file comes from.

    Returns:
        dict: the record of the file: ``bytes``, ``sha256``, ``from``.

    Raises:
        InputError: a checksum or the size differs.
    """
    known = recorded(checksums)
    before = known.get(archive.name)
    cure = f"remove it and run again, and its entry in {checksums} too if the new file is the right one"
    size = path.stat().st_size
    if before and size != before["bytes"]:
        raise InputError(
            f"{path} has {size:,} bytes but had {before['bytes']:,} at first: truncated or changed; {cure}"
        )
    sha256, md5 = digests(path)
    for kind, found, published in (("MD5", md5, archive.md5), ("SHA-256", sha256, archive.sha256)):
        if published and found != published:
            raise WrongFile(
                f"{path} has {kind} {found}, not {published}: truncated or another file; remove it and run again"
            )
    if before and sha256 != before["sha256"]:
        raise InputError(f"{path} has SHA-256 {sha256[:12]}... but had {before['sha256'][:12]}... at first; {cure}")
    if not before:
        known[archive.name] = {"bytes": size, "sha256": sha256, "from": origin}
        write_json(checksums, labelled("checksums", {"files": known}))
    return known[archive.name]


def fetch(archive, folder, checksums, mirrors):
    """Download an archive unless it exists; return its record. Raises InputError if no mirror has it.

    An interrupted download resumes where it stopped.
    """
    path, partial = folder / archive.name, folder / (archive.name + ".partial")
    if path.exists():
        return verify(path, checksums, archive)
    recorded(checksums)  # refuses a damaged record before the download
    reasons = []
    for mirror in mirrors:
        url = f"{mirror.rstrip('/')}/{archive.path}"
        print(f"downloading {url}", file=sys.stderr, flush=True)
        status, message = curl(url, partial)
        if status in NO_RESUME and partial.exists():
            partial.unlink()
            status, message = curl(url, partial)
        if status == 0:
            try:
                record = verify(partial, checksums, archive, url)
            except WrongFile:
                # The next download would resume at the end of the wrong file.
                partial.unlink()
                raise
            partial.replace(path)
            return record
        reasons.append(f"{mirror}: {message}")
    raise InputError(
        f"cannot download {archive.name} ({'; '.join(reasons)}); run again to continue, or give the folder with "
        "the files as --data"
    )


def add_fetch_arguments(parser, mirrors):
    """Add the arguments of programs that fetch archives: FOLDER, CHECKSUMS, --no-download and --mirror."""
    parser.add_argument("folder", type=Path)
    parser.add_argument("checksums", type=Path, help="file that keeps the SHA-256 of each archive")
    parser.add_argument("--no-download", action="store_true", help="only check the files, without downloading")
    parser.add_argument(
        "--mirror",
        action="append",
        default=[],
        metavar="URL",
        help=f"URL to try before {', '.join(mirrors)}; repeat for more; file:// works too",
    )


def fetch_all(archives, args, mirrors):
    """Download or check archives and print their checksums; ``args``: the arguments of add_fetch_arguments."""
    missing = [archive.name for archive in archives if not (args.folder / archive.name).is_file()]
    if args.no_download and missing:
        raise InputError(f"--data {args.folder} lacks {', '.join(missing)}; leave --data out to download them")
    for folder in (args.folder, args.checksums.parent):
        folder.mkdir(parents=True, exist_ok=True)
    for archive in archives:
        record = fetch(archive, args.folder, args.checksums, [*args.mirror, *mirrors])
        print(archive.name, record["bytes"], record["sha256"])


def curl(url, partial):
    """Download a URL, resuming at the end of the file ``partial``; return curl's status and error message."""
    command = ["curl", "--fail", "--location", "--continue-at", "-", "--retry", "3", "--connect-timeout", "30"]
    command += ["--progress-bar" if sys.stderr.isatty() else "--no-progress-meter", "--output", str(partial), url]
    try:
        # On a terminal, curl shows its progress; elsewhere, its message becomes part of ours.
        done = subprocess.run(command, stderr=None if sys.stderr.isatty() else subprocess.PIPE, text=True)
    except FileNotFoundError:
        raise InputError("curl not found; install it, or give a folder with the files as --data") from None
    message = " ".join((done.stderr or "").split()) or f"curl ended with status {done.returncode}"
    return done.returncode, message
