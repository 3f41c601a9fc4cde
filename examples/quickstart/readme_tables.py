"""The tables of measured numbers in the README of this folder."""

from functools import partial
from pathlib import Path

from examples.common.tables import read_committed
from examples.quickstart import report

RESULTS = Path(__file__).resolve().parent / "results"
#: Columns that were measured while other work was running.
DISTURBED = ("words/s", "minutes")


def table(name, without=()):
    """The table of a committed result, ``without`` the columns with these titles."""
    rows = report.cells(read_committed(RESULTS, name))
    return [[text for title, text in zip(rows[0], row) if title not in without] for row in rows]


TABLES = {
    "grammar-en-de": partial(table, "grammar-en-de"),
    "multi30k-en-de": partial(table, "multi30k-en-de", DISTURBED),
    "multi30k-en-fr": partial(table, "multi30k-en-fr", DISTURBED),
}
