"""The captions of Multi30k: their files, the download, and the text of one language pair."""

import gzip
import zlib
from pathlib import Path

from examples.common.fetch import Archive, fetch
from fairseq_posenc.errors import InputError

URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
#: The default folder for downloads.
FOLDER = Path(__file__).resolve().parents[2] / "data" / "multi30k"
SPLITS = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
SHA256 = {
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


def files(pair):
    """{archive name: split.language} for a language pair such as en-de."""
    return {
        f"{name}.{language}.gz": f"{split}.{language}" for split, name in SPLITS.items() for language in pair.split("-")
    }


def check_folder(folder, pair):
    """Raise InputError unless the folder contains all files of the language pair."""
    missing = [name for name in files(pair) if not (Path(folder) / name).is_file()]
    if missing:
        raise InputError(
            f"--data {folder} lacks {', '.join(missing)}; give the folder of Multi30k's .gz files, "
            "or leave --data out to download them"
        )


def download(pair, folder=FOLDER, url=URL):
    """Download the files of a language pair that the folder lacks, and check the SHA-256 of all of them.

    Raises InputError if a download fails, or if a checksum differs; a wrong download is removed.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in files(pair):
        fetch(Archive(name, sha256=SHA256[name]), folder, folder / "checksums.json", [url])


def write(data, pair, folder):
    """Unpack a language pair from the folder ``data``; raise InputError if the sides do not match."""
    for archive, name in files(pair).items():
        try:
            with gzip.open(Path(data) / archive) as packed:
                text = packed.read().decode("utf-8")
        except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
            raise InputError(f"cannot read {Path(data) / archive}: {error}; fetch the file again") from error
        (folder / name).write_bytes(text.encode("utf-8"))
    source, target = pair.split("-")
    for split in SPLITS:
        counts = [(folder / f"{split}.{language}").read_bytes().count(b"\n") for language in (source, target)]
        if counts[0] != counts[1] or not counts[0]:
            raise InputError(
                f"{data}: {split} has {counts[0]} lines in {source} but {counts[1]} in {target}; "
                "both need the same number, at least one"
            )
