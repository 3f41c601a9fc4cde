"""The tables of measured numbers in docs/export.md."""

import json
from functools import partial
from pathlib import Path

from examples.export.table import cells

RESULTS = Path(__file__).resolve().parent / "results"


def table(*names):
    """The table of the systems in committed results of equal settings."""
    records = [json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")) for name in names]
    return cells({**records[0], "systems": [system for record in records for system in record["systems"]]})


TABLES = {
    "language-models": partial(table, "multi30k-language-models-cpu"),
    "translation": partial(table, "multi30k-cpu", "multi30k-learned-cpu", "multi30k-other-models-cpu"),
}
