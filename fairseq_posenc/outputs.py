"""Checks of output files, for commands to make before long work."""

import os
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
    if not path.parent.is_dir():
        raise InputError(f"{what}: the folder {path.parent} does not exist; make it first")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{what}: the folder {path.parent} is not writable; choose another")
    if len(os.fsencode(temporary)) > LONGEST_NAME:
        raise InputError(f"{what}: the name is longer than the {LONGEST_NAME} bytes of a file name; shorten it")
    if path.exists() and not path.is_file():
        raise InputError(f"{what}: {path.name} is not a regular file; choose another name")
