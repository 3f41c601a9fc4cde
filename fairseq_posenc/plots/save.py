"""Writing a figure: its numbers to STEM.tsv, its pictures to STEM.png and STEM.pdf."""

import os
from pathlib import Path

from fairseq_posenc.errors import InputError
from fairseq_posenc.outputs import check_output
from fairseq_posenc.plots.style import save_image
from fairseq_posenc.results import result_tsv

FORMS = ("tsv", "png", "pdf")


def outputs(stem):
    """The files that ``save_figure(stem, ...)`` writes."""
    return [Path(f"{stem}.{form}") for form in FORMS]


def check_stem(stem, inputs=()):
    """Raise InputError if the figure could not be written, or would overwrite one of the inputs."""
    used = {Path(path).resolve() for path in inputs}
    for path in outputs(stem):
        if path.resolve() in used:
            raise InputError(f"--output {stem} would overwrite the input {path}; choose another name")
        check_output(f"--output {stem}", path, f"{path.name}.partial")


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
