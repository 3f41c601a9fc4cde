"""Checks of output files, for commands to make before long work; folders that appear as a whole."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairseq_posenc.errors import InputError

LONGEST_NAME = 255


def check_output(what, path, temporary):
    """Raise InputError if a file could not be written.

    Args:
        what: the beginning of the message, such as ``--output FILE``.
        path: path of the file.
        temporary: name of the file while it is written, in the same folder.
    """
    path = Path(path).absolute()
    _check_place(what, path, temporary)
    if path.exists() and not path.is_file():
        raise InputError(f"{what}: {path.name} is not a regular file; choose another name")


def check_new_folder(what, path):
    """Raise InputError if ``new_folder(path)`` could not make it; ``what`` as in check_output."""
    path = Path(path).absolute()
    _check_place(what, path, f".{path.name}.12345678")
    if os.path.lexists(path):
        raise InputError(f"{what}: {path.name} exists already; remove it, or choose another name")


@contextmanager
def new_folder(what, path) -> Iterator[Path]:
    """A folder to write in, which gets its name ``path`` at the end; where that fails, nothing is left.

    Raises InputError if it cannot be written.
    """
    check_new_folder(what, path)
    path = Path(path).absolute()
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as temporary:
            partial = Path(temporary, path.name)
            partial.mkdir()
            yield partial
            os.rename(partial, path)
    except OSError as error:
        raise InputError(f"{what}: cannot be written ({error.strerror or error}); choose another place") from None


def _check_place(what, path, temporary):
    """Raise InputError if there can be no new file or folder ``temporary`` beside ``path``."""
    if not path.parent.is_dir():
        raise InputError(f"{what}: the folder {path.parent} does not exist; make it first")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{what}: the folder {path.parent} is not writable; choose another")
    if len(os.fsencode(temporary)) > LONGEST_NAME:
        raise InputError(f"{what}: the name is longer than the {LONGEST_NAME} bytes of a file name; shorten it")
