"""Exact match by encoding, task and band of lengths: heat maps of tables of examples/length."""

from fairseq_posenc.plots.length_task_rows import TASK_COLUMNS, task_rows
from fairseq_posenc.plots.style import name_result, panels, styled
from fairseq_posenc.tables import groups

COLUMNS = TASK_COLUMNS
REQUIRED = ("owner", "task", "name", "band", "exact")
#: The bands that are drawn; the others are parts of "unseen".
BANDS = ("seen", "unseen", "further")
#: Sizes in inches; LOWEST leaves room for the title of the colours.
CELL, MARGIN, LABELS, LOWEST = 0.42, 0.3, 1.1, 2.0


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
    drawn = {label: parts_of(rows) for label, rows in results.items()}
    everything = [row for rows in results.values() for row in rows]
    tasks, names = (list(groups(everything, column)) for column in ("task", "name"))
    width, height = CELL * len(tasks) + MARGIN, max(CELL * 0.55 * len(names) + LABELS, LOWEST)
    columns = max(map(len, drawn.values()))
    figure, axes = panels(len(results), columns, width, height, legend=LABELS + 0.8, sharex=True, sharey=True)
    image = None
    for line, (label, parts) in zip(axes, drawn.items()):
        for panel in line[len(parts) :]:
            panel.set_axis_off()
        for panel, (title, rows) in zip(line, parts.items()):
            image = heat_map(panel, rows, tasks, names)
            panel.set_title(title, loc="center")
        if len(results) > 1:
            name_result(line[0], label, pad=14)
    figure.colorbar(image, ax=axes, label="exact match in %", fraction=0.03, pad=0.01)
    return figure


def heat_map(panel, rows, tasks, names):
    """Draw the numbers of one band, with their values; a cell without a number stays white. Returns the image."""
    values = {(row["name"], row["task"]): row["exact"] for row in rows}
    table = [[values.get((name, task), float("nan")) for task in tasks] for name in names]
    image = panel.imshow(table, cmap="viridis", vmin=0, vmax=100, aspect="auto")
    for line, name in enumerate(names):
        for column, task in enumerate(tasks):
            value = values.get((name, task))
            if value is not None:
                colour = "white" if value < 60 else "black"
                panel.text(column, line, f"{value:.0f}", ha="center", va="center", fontsize=7, color=colour)
    panel.set_xticks(range(len(tasks)), tasks, rotation=45, ha="right", rotation_mode="anchor")
    panel.set_yticks(range(len(names)), names)
    panel.grid(visible=False)
    panel.tick_params(length=0)
    return image
