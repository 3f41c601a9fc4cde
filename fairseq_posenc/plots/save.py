"""Writing a figure: its numbers to STEM.tsv, its pictures to STEM.png and STEM.pdf."""

import os
from pathlib import Path

from fairseq_posenc.errors import InputError
from fairseq_posenc.plots.style import save_image
from fairseq_posenc.results import result_tsv

FORMS = ("tsv", "png", "pdf")
LONGEST_NAME = 255


def outputs(stem):
    """The files that ``save_figure(stem, ...)`` writes."""
    return [Path(f"{stem}.{form}") for form in FORMS]


def check_name(option, name):
    """Raise InputError if no file can have this name."""
    if len(os.fsencode(name)) > LONGEST_NAME:
        raise InputError(f"{option}: the name is longer than the {LONGEST_NAME} bytes of a file name; shorten it")


def check_stem(stem, inputs=()):
    """Raise InputError if the figure could not be written, or would overwrite one of the inputs."""
    folder = Path(f"{stem}.png").resolve().parent
    check_name(f"--output {stem}", f"{Path(stem).name}.png.partial")
    if not folder.is_dir():
        raise InputError(f"--output {stem}: the folder {folder} does not exist; make it first")
    if not os.access(folder, os.W_OK):
        raise InputError(f"--output {stem}: the folder {folder} is not writable; choose another")
    used = {Path(path).resolve() for path in inputs}
    for path in outputs(stem):
        if path.resolve() in used:
            raise InputError(f"--output {stem} would overwrite the input {path}; choose another name")
        if path.is_dir():
            raise InputError(f"--output {stem}: {path} is a folder; choose another name")


def save_figure(stem, figure, kind, rows):
    """Write the three files and return their paths. Existing files are replaced only after all three are complete.

    kind, rows: the content of the TSV; rows are dictionaries with equal keys.
    """
    partial = [Path(f"{path}.partial") for path in outputs(stem)]
    try:
        for path, form in zip(partial, FORMS):
            with open(path, "wb") as file:
                if form == "tsv":
                    file.write(result_tsv(kind, rows).encode())
                else:
                    save_image(figure, file, form)
        for path, target in zip(partial, outputs(stem)):
            os.replace(path, target)
    except OSError as error:
        for path in partial:
            path.unlink(missing_ok=True)
        raise InputError(
            f"cannot write {stem}.*: {error.strerror}; free some space or choose another --output"
        ) from None
    return outputs(stem)
