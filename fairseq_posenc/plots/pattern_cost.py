"""Time and memory of attention patterns by length, from ``fairseq-posenc bench --patterns``."""

from fairseq_posenc.plots.style import fill, legend_beside, line_styles, logarithmic, panels, styled
from fairseq_posenc.tables import groups

COLUMNS = {"encoding": str, "pattern": str, "length": int, "measure": str, "value": float, "unit": str}
REQUIRED = ("encoding", "pattern", "length", "measure", "value", "unit")

#: Measure -> axis label.
AXES = {"model": "one forward pass", "attention": "its attention alone", "memory": "memory above the model"}


def rows(record):
    """Return a row for each measure, encoding, pattern and length: seconds, or MiB."""
    result = []
    for measure, key in (("model", "seconds"), ("attention", "attention_seconds")):
        result += [row_of(row, measure, row[key], "s") for row in record.get("time", ())]
    return result + [row_of(row, "memory", row["bytes"] / 2**20, "MiB") for row in record.get("memory", ())]


def row_of(row, measure, value, unit):
    system = {key: row[key] for key in ("encoding", "pattern", "length")}
    return {**system, "measure": measure, "value": value, "unit": unit}


@styled
def draw(results):
    """Return a figure: a row of panels per result, one panel per measure, one line per encoding and pattern.

    results: {label: rows}.
    """
    measures = [name for name in AXES if any(row["measure"] == name for rows in results.values() for row in rows)]
    all_rows = [row for rows in results.values() for row in rows]
    styles = line_styles([" ".join(system) for system in groups(all_rows, "encoding", "pattern")])
    figure, axes = panels(len(results), len(measures), width=3.0, height=2.5)

    def one_panel(panel, measure, rows):
        for system, points in groups(rows, "encoding", "pattern").items():
            name, points = " ".join(system), sorted(points, key=lambda row: row["length"])
            panel.plot([p["length"] for p in points], [p["value"] for p in points], **styles[name], label=name)
        lengths = sorted({row["length"] for row in rows})
        panel.set_xscale("log", base=2)
        logarithmic(panel)
        panel.set_xticks(lengths, [str(length) for length in lengths])
        panel.tick_params(axis="x", which="minor", bottom=False)
        panel.tick_params(axis="x", rotation=45)
        panel.set_xlabel("length in tokens")
        panel.set_ylabel(f"{AXES[measure]} ({rows[0]['unit']})")

    fill(axes, results, "measure", measures, one_panel)
    legend_beside(figure, axes.flat)
    return figure
