"""Writing files and folders atomically."""

import contextlib
import shutil


@contextlib.contextmanager
def folder_at_once(folder):
    """A new folder of another name to fill, which takes the place of ``folder`` when the block ends well."""
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    yield partial
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def write_texts(stem, **texts):
    """Write each text to STEM.md, STEM.tsv, ..: ``write_texts(stem, md=..., tsv=...)``."""
    for ending, text in texts.items():
        partial = stem.with_name(f"{stem.name}.{ending}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(stem.with_name(f"{stem.name}.{ending}"))
