"""The raw text of the quickstart: from the grammar, or the Multi30k captions from a folder or the network."""

import gzip
import hashlib
import urllib.error
import urllib.request
import zlib
from pathlib import Path

import grammar

from fairseq_posenc.errors import InputError

MULTI30K_URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
MULTI30K_SPLITS = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
MULTI30K_SHA256 = {
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
}
GRAMMAR_MODULES = ("grammar", "sampler", "syntax", "english", "german", "morphology", "lexicon", "words", "text")
BLOCK = 1 << 16


def sha256(path):
    """The SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def multi30k_files(source, target):
    """{archive name: split.language} for one language pair."""
    return {
        f"{name}.{language}.gz": f"{split}.{language}"
        for split, name in MULTI30K_SPLITS.items()
        for language in (source, target)
    }


def check_folder(folder, names):
    """Raise InputError unless the folder holds all the files."""
    missing = [name for name in names if not (Path(folder) / name).is_file()]
    if missing:
        raise InputError(
            f"--data {folder} lacks {', '.join(missing)}; give the folder of Multi30k's .gz files, "
            "or leave --data out to download them"
        )


def download(base_url, names, folder):
    """Fetch what the folder does not yet hold; a file is there only when its SHA-256 is the pinned one.

    An interrupted download continues where it stopped. Raises InputError without a network, and on a checksum
    other than the pinned one, after removing the wrong file.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        if (folder / name).is_file() and sha256(folder / name) == MULTI30K_SHA256[name]:
            continue
        url, partial = f"{base_url.rstrip('/')}/{name}", folder / (name + ".partial")
        print(f"downloading {url}", flush=True)
        try:
            fetch(url, partial)
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise InputError(
                f"cannot download {url}: {reason}; check the network, or give a folder with the files as --data"
            ) from error
        found = sha256(partial)
        if found != MULTI30K_SHA256[name]:
            partial.unlink()
            raise InputError(
                f"{url} has SHA-256 {found}, not {MULTI30K_SHA256[name]}: another or a damaged file, removed; "
                "try again, or give a folder with the files as --data"
            )
        partial.replace(folder / name)


def fetch(url, partial):
    """Download a URL to a file, from the end of what the file already holds if the server can do that."""
    held = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={held}-"} if held else {})
    try:
        response = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing is left to fetch: the checksum decides
            return
        raise
    with response, open(partial, "ab" if held and response.status == 206 else "wb") as file:
        while block := response.read(BLOCK):
            file.write(block)


def write_grammar(seed, folder):
    """Write the grammar's train, valid and test texts into the folder."""
    grammar.write(grammar.corpus(seed), folder)


def write_multi30k(data, source, target, folder):
    """Unpack one language pair of Multi30k from the folder ``data``; raise InputError where the sides do not match."""
    for archive, name in multi30k_files(source, target).items():
        try:
            with gzip.open(Path(data) / archive) as packed:
                text = packed.read().decode("utf-8")
        except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
            raise InputError(f"cannot read {Path(data) / archive}: {error}; fetch the file again") from error
        (folder / name).write_bytes(text.encode("utf-8"))
    for split in MULTI30K_SPLITS:
        counts = [(folder / f"{split}.{language}").read_bytes().count(b"\n") for language in (source, target)]
        if counts[0] != counts[1] or not counts[0]:
            raise InputError(
                f"{data}: {split} has {counts[0]} lines in {source} but {counts[1]} in {target}; "
                "both need the same number, at least one"
            )
