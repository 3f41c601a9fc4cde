"""Perplexity by length, from ``fairseq-posenc extrapolate``: Figure 1 of Sun et al. (2023)."""

from fairseq_posenc.plots.style import (
    legend_beside,
    logarithmic,
    mark_training_length,
    name_result,
    panels,
    styled,
    styles_of,
)

COLUMNS = {
    "name": str,
    "pattern": str,
    "length": int,
    "seeds": int,
    "perplexity": float,
    "deviation": float,
    "p": float,
    "mark": str,
    "training_length": int,
}
REQUIRED = ("name", "pattern", "length")


def rows(record):
    """Return a row for each system, pattern and length; a perplexity is None if it is not finite."""
    trained = training_lengths(record)
    return [{**row, "mark": row["mark"] or None, "training_length": trained[row["name"]]} for row in record["summary"]]


def training_lengths(record):
    """{system: length of its training samples}."""
    return {checkpoint["name"]: checkpoint["training_length"] for checkpoint in record["checkpoints"]}


def panels_of(rows):
    """{title: rows}: one panel per pattern, or a single panel if no system has several patterns."""
    patterns = list(dict.fromkeys(row["pattern"] for row in rows))
    systems = {(row["name"], row["pattern"]) for row in rows}
    if len(systems) == len({name for name, _ in systems}):
        return {"": rows}
    return {pattern: [row for row in rows if row["pattern"] == pattern] for pattern in patterns}


@styled
def draw(results):
    """Return a figure: a row of panels per result, one panel per pattern, one line per system.

    Whiskers show one standard deviation. results: {label: rows}.
    """
    by_pattern = {label: panels_of(rows) for label, rows in results.items()}
    styles = styles_of(results)
    columns = max(map(len, by_pattern.values()))
    figure, axes = panels(len(results), columns, width=3.4, height=2.6, sharey="row")
    for line, (label, parts) in zip(axes, by_pattern.items()):
        for panel in line[len(parts) :]:
            panel.set_axis_off()
        for panel, (pattern, rows) in zip(line, parts.items()):
            one_panel(panel, rows, styles)
            panel.set_title(pattern, loc="center")
        line[0].set_ylabel("perplexity")
        scale(line[: len(parts)], [row["perplexity"] for rows in parts.values() for row in rows])
        if len(results) > 1:
            name_result(line[0], label)
    legend_beside(figure, axes.flat)
    return figure


def one_panel(panel, rows, styles):
    """Draw one line per system over the length, and a dotted line at the training length."""
    lengths = sorted({row["length"] for row in rows})
    for name in dict.fromkeys(row["name"] for row in rows):
        finite = [row for row in rows if row["name"] == name and row["perplexity"] is not None]
        spread = [row["deviation"] or 0 for row in finite]
        whiskers = {"yerr": spread, "capsize": 2, "elinewidth": 0.8} if any(spread) else {}
        x, y = [row["length"] for row in finite], [row["perplexity"] for row in finite]
        panel.errorbar(x, y, **whiskers, **styles[name], label=name)
    panel.set_xscale("log", base=2)
    panel.set_xticks(lengths, [str(length) for length in lengths])
    panel.tick_params(axis="x", which="minor", bottom=False)
    panel.set_xlabel("length in tokens")
    mark_training_length(panel, rows)


def scale(line, values):
    """Use a logarithmic axis in a row of panels if the perplexities differ a lot."""
    values = [value for value in values if value is not None]
    if values and max(values) > 5 * min(values):
        for panel in line:
            logarithmic(panel)
