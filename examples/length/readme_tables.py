"""The tables of measured numbers in the README of this folder."""

from functools import partial

from examples.common.tables import read_committed
from examples.length import table_text
from examples.length.settings import HERE
from examples.length.tasks import TASKS
from fairseq_posenc.tables import groups, shown

#: What counts as a solved task, in per cent.
SOLVED = 95
read = partial(read_committed, HERE / "results" / "small")


def tasks():
    """All tasks, and what is counted as the length of their examples."""
    rows = [["task", "input: output", "length", "source"]]
    return rows + [[f"`{task.name}`", task.summary, task.length_of, task.source] for task in TASKS.values()]


def numbers(name, band, measure="exact"):
    """One table of a committed result."""
    return table_text.cells(read(name), band, measure)


def solved(name):
    """For each system, the tasks that it solves at the trained lengths, and at those up to twice as long."""
    record = read(name)
    rows = [["system", f"seen: exact match above {SOLVED} %", f"unseen: exact match above {SOLVED} %"]]
    for system, of_system in groups(record["summary"], "name").items():
        cells = []
        for band in ("seen", "unseen"):
            found = [row for row in of_system if row["band"] == band and row["exact"] > SOLVED]
            cells.append(", ".join(f"{row['task']} {shown(row['exact'], '{:.1f}')}" for row in found) or "none")
        rows.append([f"`{system}`", *cells])
    return rows


NAME, LANGUAGE_MODELS, KAZEMNEJAD = "encoder-decoder", "decoder-only", "kazemnejad"
TABLES = {
    "tasks": tasks,
    "solved": partial(solved, NAME),
    "seen": partial(numbers, NAME, "seen"),
    "unseen": partial(numbers, NAME, "unseen"),
    "unseen-oracle": partial(numbers, NAME, "unseen", "token_oracle"),
    "decoder-only-seen": partial(numbers, LANGUAGE_MODELS, "seen"),
    "decoder-only-unseen": partial(numbers, LANGUAGE_MODELS, "unseen"),
    "decoder-only-unseen-oracle": partial(numbers, LANGUAGE_MODELS, "unseen", "token_oracle"),
    "kazemnejad-seen": partial(numbers, KAZEMNEJAD, "seen"),
    "kazemnejad-unseen": partial(numbers, KAZEMNEJAD, "unseen"),
    "kazemnejad-unseen-oracle": partial(numbers, KAZEMNEJAD, "unseen", "exact_oracle"),
}
