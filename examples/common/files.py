"""Writing files and folders atomically."""

import contextlib
import shutil


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
