"""The gap to the baseline by n-gram length, from ``fairseq-posenc grain``: Figure 4 of Zhang et al. (2023)."""

from fairseq_posenc.plots.style import legend_beside, name_result, panels, styled, styles_of
from fairseq_posenc.tables import groups

COLUMNS = {"grain": str, "n": int, "baseline": str, "system": str, "score": float, "gap": float}
REQUIRED = ("grain", "n", "baseline", "system", "gap")

# Grain -> (metric, axis label of n).
AXES = {
    "character": ("chrF", "character order n (word order 2)"),
    "word": ("chrF", "word order n (character order 6)"),
    "bleu": ("BLEU", "word order n"),
}


def rows(record):
    """Return a row for each grain, n and system except the baseline."""
    return [
        {
            "grain": grain,
            "n": point["n"],
            "baseline": record["baseline"],
            "system": system,
            "score": point["scores"][system],
            "gap": gap,
        }
        for grain, points in record["grains"].items()
        for point in points
        for system, gap in point["gaps"].items()
    ]


@styled
def draw(results):
    """Return a figure: a row of three panels per result, one line per system. results: {label: rows}."""
    styles = styles_of(results, "system")
    figure, axes = panels(len(results), len(AXES), width=2.8, height=2.5)
    for line, (label, rows) in zip(axes, results.items()):
        by_grain = groups(rows, "grain")
        for panel, (grain, (metric, counted)) in zip(line, AXES.items()):
            for system in styles:
                points = [row for row in by_grain.get(grain, []) if row["system"] == system]
                # Small markers, because a line has up to thirty points.
                panel.plot(
                    [p["n"] for p in points], [p["gap"] for p in points], **styles[system], markersize=3, label=system
                )
            panel.axhline(0, color="black", linewidth=0.8)
            orders = sorted({row["n"] for row in by_grain.get(grain, [])})
            panel.set_xticks([n for n in orders if len(orders) <= 10 or n == 1 or n % 5 == 0])
            panel.set_xlabel(counted)
            panel.set_ylabel(f"{metric} gap to {rows[0]['baseline']}")
        if len(results) > 1:
            name_result(line[0], label)
    legend_beside(figure, axes.flat)
    return figure
