"""Files and folders of the recipes: checksums, and writing them atomically."""

import contextlib
import shutil
import subprocess
from pathlib import Path

from fairseq_posenc.errors import InputError

#: The folder of the repository.
ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def folder_at_once(folder):
    """A new temporary folder for the block to fill; it replaces ``folder`` unless the block raises an exception."""
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    yield partial
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


@contextlib.contextmanager
def file_at_once(path):
    """A temporary binary file for the block to write; it replaces ``path`` unless the block raises an exception."""
    partial = path.with_name(path.name + ".partial")
    with open(partial, "wb") as file:
        yield file
    partial.replace(path)


def write_at_once(path, text):
    """Write a text to a file as UTF-8."""
    with file_at_once(path) as file:
        file.write(text.encode())


def write_texts(stem, **texts):
    """Write each text to STEM.EXTENSION: ``write_texts(stem, md=..., tsv=...)``."""
    for extension, text in texts.items():
        write_at_once(stem.with_name(f"{stem.name}.{extension}"), text)


def cksum(*paths):
    """Checksum and size of the concatenated contents of files, as printed by the command cksum."""
    with subprocess.Popen(["cksum"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=False) as process:
        for path in paths:
            try:
                with open(path, "rb") as file:
                    shutil.copyfileobj(file, process.stdin, 1 << 20)
            except OSError as error:
                process.stdin.close()
                raise InputError(f"cannot read {path}: {error.strerror}; run the steps before this one") from None
        process.stdin.close()
        return process.stdout.read().decode().strip()
