"""Exact match by encoding, task and band of lengths: heat maps of tables of examples/length."""

from fairseq_posenc.plots.heat_maps import heat_maps
from fairseq_posenc.plots.length_task_rows import TASK_COLUMNS, task_rows
from fairseq_posenc.plots.style import styled
from fairseq_posenc.tables import groups

COLUMNS = TASK_COLUMNS
REQUIRED = ("owner", "task", "name", "band", "exact")
#: The bands that are drawn; the others are parts of "unseen".
BANDS = ("seen", "unseen", "further")


def rows(record):
    """Return a row for each task, system and band, ours and the paper's; see length_task_rows.py."""
    return task_rows(record)


def parts_of(rows):
    """{title: rows}: one part per band of ours, then one per paper."""
    parts = groups([row for row in rows if row["band"] in BANDS], "owner", "band")
    return {band if owner == "ours" else f"{band}, {owner}": part for (owner, band), part in parts.items()}


@styled
def draw(results):
    """Return a figure: a row of heat maps per result, one for each band, with encodings down and tasks across.

    results: {label: rows}.
    """
    everything = [row for rows in results.values() for row in rows]
    tasks, names = (list(groups(everything, column)) for column in ("task", "name"))
    drawn = {
        label: {title: {(row["name"], row["task"]): row["exact"] for row in part} for title, part in parts.items()}
        for label, parts in ((label, parts_of(rows)) for label, rows in results.items())
    }
    return heat_maps(drawn, names, tasks, 0, "exact match in %", most=100)
