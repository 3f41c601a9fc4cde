"""The tables of measured numbers in docs/export.md."""

import json
from functools import partial
from pathlib import Path

from examples.export.table import cells

RESULTS = Path(__file__).resolve().parent / "results"


def table(name):
    """The table of a committed result."""
    return cells(json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")))


TABLES = {
    "translation": partial(table, "multi30k-cpu"),
}
