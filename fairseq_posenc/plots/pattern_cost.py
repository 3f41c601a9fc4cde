"""Time and memory of attention patterns by length, from ``fairseq-posenc bench --patterns``."""

from fairseq_posenc.plots.style import legend_beside, line_styles, name_result, panels, styled
from fairseq_posenc.tables import groups

COLUMNS = {"encoding": str, "pattern": str, "length": int, "measure": str, "value": float, "unit": str}
REQUIRED = ("encoding", "pattern", "length", "measure", "value", "unit")

#: Measure -> what its value is.
AXES = {"model": "one forward pass", "attention": "its attention alone", "memory": "memory above the model"}


def rows(record):
    """Return a row for each measure, encoding, pattern and length: seconds, or MiB."""
    found = []
    for measure, key in (("model", "seconds"), ("attention", "attention_seconds")):
        found += [row_of(row, measure, row[key], "s") for row in record.get("time", ())]
    return found + [row_of(row, "memory", row["bytes"] / 2**20, "MiB") for row in record.get("memory", ())]


def row_of(row, measure, value, unit):
    system = {key: row[key] for key in ("encoding", "pattern", "length")}
    return {**system, "measure": measure, "value": value, "unit": unit}


@styled
def draw(results):
    """Return a figure: a row of panels a result, a panel a measure, a line an encoding and pattern.

    results: {label: rows}.
    """
    measures = [name for name in AXES if any(row["measure"] == name for rows in results.values() for row in rows)]
    every = [row for rows in results.values() for row in rows]
    styles = line_styles([" ".join(system) for system in groups(every, "encoding", "pattern")])
    figure, axes = panels(len(results), len(measures), width=3.0, height=2.5)
    for line, (label, rows) in zip(axes, results.items()):
        by_measure = groups(rows, "measure")
        for panel, measure in zip(line, measures):
            if measure not in by_measure:
                panel.set_axis_off()
                continue
            for system, mine in groups(by_measure[measure], "encoding", "pattern").items():
                name, mine = " ".join(system), sorted(mine, key=lambda row: row["length"])
                panel.plot([row["length"] for row in mine], [row["value"] for row in mine], **styles[name], label=name)
            lengths = sorted({row["length"] for row in by_measure[measure]})
            panel.set_xscale("log", base=2)
            panel.set_yscale("log")
            panel.set_xticks(lengths, [str(length) for length in lengths])
            panel.tick_params(axis="x", which="minor", bottom=False, rotation=30)
            panel.set_xlabel("length in tokens")
            panel.set_ylabel(f"{AXES[measure]} ({by_measure[measure][0]['unit']})")
        if len(results) > 1:
            name_result(line[0], label)
    legend_beside(figure, axes.flat)
    return figure
