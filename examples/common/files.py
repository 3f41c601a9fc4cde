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


def write_texts(stem, **texts):
    """Write each text to STEM.EXTENSION: ``write_texts(stem, md=..., tsv=...)``."""
    for ending, text in texts.items():
        partial = stem.with_name(f"{stem.name}.{ending}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(stem.with_name(f"{stem.name}.{ending}"))
