"""A table of accuracies by task and length: for the terminal, as Markdown, and as TSV."""

from fairseq_posenc.plots.length_task_rows import curve_rows, task_rows
from fairseq_posenc.results import result_tsv
from fairseq_posenc.tables import aligned, groups, markdown, shown

#: The tables for readers: the band, the measure, and its title. The TSV has all bands and measures.
VIEWS = (
    ("seen", "exact", "exact match"),
    ("unseen", "exact", "exact match"),
    ("unseen", "token_oracle", "tokens right, with the length of the answer given"),
    ("further", "exact", "exact match"),
    ("further", "token_oracle", "tokens right, with the length of the answer given"),
)


def band_title(record, band):
    """The name of a band with its lengths, if they are the same in all tasks."""
    of_tasks = {
        (found["from"], found["to"]) for task in record["tasks"] for found in task["bands"] if found["band"] == band
    }
    if len(of_tasks) != 1:
        return band
    ((first, last),) = of_tasks
    return f"{band}, lengths {first} to {last}"


def cells(record, band, measure):
    """Rows of text, the header first: one column per task, and the paper's numbers below ours."""
    tasks = [task["task"] for task in record["tasks"]]
    found = {(row["task"], row["name"]): row for row in record["summary"] if row["band"] == band}
    rows = [["system", *tasks]]
    for name in groups(record["summary"], "name"):
        numbers = [found.get((task, name), {}) for task in tasks]
        rows.append([name, *(shown(cell.get(measure), "{:.0f}", cell.get(f"{measure}_deviation")) for cell in numbers)])
    if (band, measure) == ("unseen", "exact"):
        for (owner, name), of_paper in groups(record["paper"], "owner", "name").items() if record["paper"] else ():
            theirs = {row["task"]: row[measure] for row in of_paper}
            rows.append([f"{name} ({owner})", *(shown(theirs.get(task), "{:.0f}") for task in tasks)])
    return rows


def by_task(record, field):
    """The values of a field of the training runs, task by task if they are not the same in all."""
    tasks = {}
    for task, runs in groups(record["trainings"], "task").items():
        values = sorted({run[field] for run in runs})
        tasks.setdefault(", ".join(map(str, values)), []).append(task)
    if len(tasks) == 1:
        return next(iter(tasks))
    return "; ".join(f"{values} ({', '.join(names)})" for values, names in tasks.items())


def notes(record):
    """Lines below the tables: what was measured and how."""
    trained = ", ".join(f"{task['task']} {task['trained']}" for task in record["tasks"])
    lines = [
        f"{record['form']} models; scale: {record['scale']}; greatest length in training: {trained}",
        "numbers in %, of greedy answers; unseen: up to twice that length",
        f"updates of each training run: {by_task(record, 'updates')}",
        f"seeds: {by_task(record, 'seed')}" + ("; mean ± standard deviation" if len(record["seeds"]) > 1 else ""),
    ]
    if record["paper"]:
        owners = ", ".join(groups(record["paper"], "owner"))
        lines.append(f"the last rows are the numbers of {owners}, who trained larger models for longer")
    return lines


def as_plain(record):
    """For the terminal: one aligned table per view."""
    parts = [
        "\n".join([f"{title}, {band_title(record, band)}", *aligned(cells(record, band, measure))])
        for band, measure, title in VIEWS
    ]
    return "\n\n".join([*parts, "\n".join(notes(record))])


def as_markdown(record):
    parts = [
        "\n".join([f"{title}, {band_title(record, band)}:", "", *markdown(cells(record, band, measure))])
        for band, measure, title in VIEWS
    ]
    return "\n\n".join([*parts, "\n".join(f"- {note}" for note in notes(record))]) + "\n"


def as_tsv(record):
    """One line per task, system and band."""
    return result_tsv("length-tasks", task_rows(record))


def curves_tsv(record):
    """One line per task, system and length."""
    return result_tsv("length-curves", curve_rows(record))
