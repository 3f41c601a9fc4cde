"""Time and memory of systems as bars, from ``fairseq-posenc bench``: Figure 2 and Table 3 of Zhang et al. (2023)."""

from fairseq_posenc.plots.style import fill, line_styles, panels, styled
from fairseq_posenc.tables import groups

COLUMNS = {"measure": str, "system": str, "value": float, "low": float, "high": float, "unit": str}
REQUIRED = ("measure", "system", "value", "unit")

# Measure -> axis label.
AXES = {
    "forward": "ten forward passes of one batch",
    "training": "one training step",
    "generation": "beam search of one batch",
    "memory": "peak memory of training",
}


def rows(record):
    """Return a row for each measure and system: seconds with quartiles as ``low`` and ``high``, or GiB."""
    result = []
    for measure in AXES:
        for system, measured in record.get(measure, {}).items():
            low, high = measured["quartiles"]
            numbers = {"value": measured["seconds"], "low": low, "high": high}
            result.append({"measure": measure, "system": system, **numbers, "unit": "s"})
    for system, size in record.get("peak_memory_bytes", {}).items():
        numbers = {"value": size / 2**30, "low": None, "high": None}
        result.append({"measure": "memory", "system": system, **numbers, "unit": "GiB"})
    return result


@styled
def draw(results):
    """Return a figure: a row of panels per result, one panel per measure, one bar per system.

    Whiskers go from ``low`` to ``high``. results: {label: rows}.
    """
    measures = [name for name in AXES if any(row["measure"] == name for rows in results.values() for row in rows)]
    bar_counts = [max(map(len, groups(rows, "measure").values())) for rows in results.values()]
    heights = [0.8 + 0.22 * count for count in bar_counts]
    mean_height = sum(heights) / len(heights)
    figure, axes = panels(len(results), len(measures), 3.3, mean_height, legend=0.7, height_ratios=heights)

    def one_panel(panel, measure, rows):
        bars(panel, rows)
        panel.set_xlabel(f"{AXES[measure]} ({rows[0]['unit']})")

    fill(axes, results, "measure", measures, one_panel)
    return figure


def bars(panel, rows):
    """Draw one horizontal bar per system with its value (or ``text``) at the right, and a dotted line at the first."""
    names = [row["system"] for row in rows]
    styles = line_styles(names)
    at_the_right = panel.get_yaxis_transform()
    for place, row in enumerate(rows):
        value = row["value"]
        panel.barh(place, value, height=0.7, color=styles[row["system"]]["color"], alpha=0.5)
        if row["low"] is not None and row["high"] is not None:
            spread = [[value - row["low"]], [row["high"] - value]]
            panel.errorbar(value, place, xerr=spread, color="black", linewidth=1, capsize=2)
        panel.text(1.02, place, row.get("text") or three_digits(value), transform=at_the_right, va="center", fontsize=8)
    panel.axvline(rows[0]["value"], color="black", linestyle=":", linewidth=0.8)
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.set_yticks(range(len(names)), names)
    panel.grid(axis="y", visible=False)


def three_digits(value):
    """Return the number with three significant digits, including final zeros: 2.30, 12.0, 123."""
    return f"{value:#.3g}".rstrip(".")
