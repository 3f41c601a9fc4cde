"""BLEU and chrF++ of systems as bars: from ``fairseq-posenc score`` and from tables of trained systems."""

from fairseq_posenc.plots.cost import bars
from fairseq_posenc.plots.style import fill, panels, styled
from fairseq_posenc.tables import groups

METRICS = {"bleu": "BLEU", "chrf++": "chrF++"}
COLUMNS = {
    "pair": str,
    "name": str,
    **{f"{metric}{part}": of_type for metric in METRICS for part, of_type in (("", float), ("_deviation", float))},
    **{f"{metric}_mark": str for metric in METRICS},
}
REQUIRED = ("name", *METRICS)


def rows(record):
    """Return a row for each system of each language pair: means, with deviations and marks if there are any."""
    if "pairs" in record:
        systems = [{**row, "pair": pair} for pair, table in record["pairs"].items() for row in table["systems"]]
    else:
        marks = (record.get("significance") or {}).get("marks", {})
        systems = [
            {**row, **{f"{metric}_mark": mark for metric, mark in marks.get(row["name"], {}).items()}}
            for row in record["systems"]
        ]
    return [
        {column: system.get(column) if column in REQUIRED else system.get(column) or None for column in COLUMNS}
        for system in systems
    ]


@styled
def draw(results):
    """Return a figure: a row of panels per result, one panel per language pair and metric, one bar per system.

    Whiskers show one standard deviation. results: {label: rows}.
    """
    pairs = list(dict.fromkeys(row.get("pair") for rows in results.values() for row in rows))
    heights = [0.8 + 0.22 * max(map(len, groups(rows, "pair").values())) for rows in results.values()]
    mean_height, columns = sum(heights) / len(heights), len(METRICS) * len(pairs)
    figure, axes = panels(len(results), columns, 3.3, mean_height, legend=0.7, height_ratios=heights)
    for number, (metric, title) in enumerate(METRICS.items()):

        def one_panel(panel, pair, rows, metric=metric, title=title):
            bars(panel, [bar(row, metric) for row in rows])
            panel.set_xlabel(title + (f", {pair}" if pair else ""))

        fill(axes[:, number :: len(METRICS)], results, "pair", pairs, one_panel)
    return figure


def bar(row, metric):
    """The row of a system for plots.cost.bars."""
    value, deviation, mark = row[metric], row[f"{metric}_deviation"], row[f"{metric}_mark"]
    low, high = (None, None) if deviation is None else (value - deviation, value + deviation)
    text = f"{value:.1f}" + (f" {mark}" if mark else "")
    return {"system": row["name"], "value": value, "low": low, "high": high, "text": text}
