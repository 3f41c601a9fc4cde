"""Attention scores by distance and resolution by layer, from ``fairseq-posenc resolution``: Figure 2 of Sun et al.
(2023)."""

import statistics

from matplotlib.ticker import MaxNLocator

from fairseq_posenc.plots.extrapolation import panels_of
from fairseq_posenc.plots.style import legend_beside, name_result, panels, styled, styles_of
from fairseq_posenc.tables import groups

COLUMNS = {
    "name": str,
    "pattern": str,
    "length": int,
    "measure": str,
    "place": int,
    "seeds": int,
    "value": float,
}
REQUIRED = ("name", "length", "measure", "value", "seeds")

# Measure -> (label of the value, label of the place); "resolution" is a single number, without a place.
AXES = {
    "score": ("mean score", "query \N{MINUS SIGN} key position"),
    "resolution of layer": ("resolution", "layer"),
}


def rows(record):
    """Return rows of means over seeds: ``score`` at distances, ``resolution`` and ``resolution of layer``."""
    result = []
    for curve in record.get("curves", ()):
        result += rows_of(curve["name"], None, curve["length"], [curve])
    for system, cells in groups(record.get("cells", ()), "name", "pattern", "length").items():
        result += rows_of(*system, cells)
    return result


def rows_of(name, pattern, length, cells):
    """The rows of one system, from its cells, one per seed."""
    numbers = [("resolution", None, [cell["resolution"] for cell in cells])]
    for layer, values in enumerate(zip(*(cell.get("by_layer", ()) for cell in cells)), start=1):
        numbers.append(("resolution of layer", layer, values))
    scores = zip(*(cell["curve"]["score"] for cell in cells))
    numbers += [("score", place, values) for place, values in zip(cells[0]["curve"]["distance"], scores)]
    system = {"name": name, "pattern": pattern, "length": length}
    return [
        {**system, "measure": measure, "place": place, "seeds": len(cells), "value": statistics.fmean(values)}
        for measure, place, values in numbers
    ]


@styled
def draw(results):
    """Return a figure: one column per result, pattern and length; scores above, resolutions of layers below.

    results: {label: rows}.
    """
    styles = styles_of(results)
    columns = [
        (label, pattern, length, of_length)
        for label, rows in results.items()
        for pattern, of_pattern in panels_of(rows).items()
        for length, of_length in groups(of_pattern, "length").items()
    ]
    measures = [name for name in AXES if any(row["measure"] == name for *_, rows in columns for row in rows)]
    figure, axes = panels(len(measures), len(columns), width=3.2, height=2.1, sharey="row")
    labelled = set()  # the measures whose first panel already has an axis label
    for column, (label, pattern, length, rows) in zip(axes.T, columns):
        by_measure = groups(rows, "measure")
        for panel, measure in zip(column, measures):
            if measure not in by_measure:
                panel.set_axis_off()
                continue
            value, place = AXES[measure]
            for name, points in groups(by_measure[measure], "name").items():
                style = {**styles[name], "marker": None} if measure == "score" else styles[name]
                panel.plot([p["place"] for p in points], [p["value"] for p in points], **style, label=name)
            if place == "layer":
                panel.xaxis.set_major_locator(MaxNLocator(integer=True))
            panel.set_xlabel(place)
            if measure not in labelled:
                labelled.add(measure)
                panel.set_ylabel(value)
                panel.tick_params(labelleft=True)
        column[0].set_title(f"{length} tokens" + (f", {pattern}" if pattern else ""))
        if len(results) > 1:
            name_result(column[0], label, pad=14)
    legend_beside(figure, axes.flat)
    return figure
