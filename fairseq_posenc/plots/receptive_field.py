"""Receptive fields, attention distances and biases, from ``fairseq-posenc receptive-field``: Figures 4 to 13 of Chi et
al. (2023)."""

import math
import statistics

import matplotlib as mpl
import numpy as np
from matplotlib.ticker import MaxNLocator

from fairseq_posenc.plots.extrapolation import panels_of
from fairseq_posenc.plots.style import VERMILLION, legend_beside, panels, styled, styles_of
from fairseq_posenc.tables import groups

COLUMNS = {
    "name": str,
    "pattern": str,
    "length": int,
    "quantity": str,
    "layer": int,
    "head": int,
    "dim": int,
    "place": int,
    "seeds": int,
    "value": float,
}
REQUIRED = ("name", "length", "quantity", "value", "seeds")

SHARE, ERF, DISTANCE, BIAS, FIT = "cumulative gradient", "erf", "attention distance", "bias", "fitted bias"
COLUMNS_OF_PANELS = 3


def rows(record):
    """Return rows of means over seeds, and rows of biases.

    ``cumulative gradient`` by number of most recent tokens, ``erf``, and ``attention distance`` of each ``layer`` are
    means. ``bias`` and ``fitted bias`` by distance are of the first checkpoint of each name, for each ``head``, or of
    the closed form, for each ``dim``.
    """
    result = []
    for (name, pattern, length), cells in groups(record.get("cells", ()), "name", "pattern", "length").items():
        system = {"name": name, "pattern": pattern, "length": length, "seeds": len(cells)}
        result.append(row(system, ERF, statistics.fmean(cell["erf"] for cell in cells)))
        by_layer = zip(*(cell["attention_distance"]["by_layer"] for cell in cells))
        for layer, values in enumerate(by_layer, start=1):
            result.append(row(system, DISTANCE, statistics.fmean(values), layer=layer))
        shares = zip(*(cell["curve"]["share"] for cell in cells))
        for place, values in zip(cells[0]["curve"]["tokens"], shares):
            result.append(row(system, SHARE, statistics.fmean(values), place=place))
    first_path = {}
    for curve in record["biases"]:
        if first_path.setdefault(curve["name"], curve.get("path")) == curve.get("path"):
            result += bias_rows(curve)
    return result


def row(system, quantity, value, **place):
    return {**dict.fromkeys(COLUMNS), **system, "quantity": quantity, **place, "value": value}


def bias_rows(curve):
    """The rows of one bias and of its fit to all distances."""
    length = curve["distance"][-1] + 1
    kind = {
        "layer": curve["layers"][0] if "layers" in curve else None,
        "head": curve.get("head"),
        "dim": curve.get("dim"),
    }
    system, fit = {"name": curve["name"], "length": length, "seeds": 1, **kind}, curve["fits"]["all"]
    measured = [row(system, BIAS, value, place=place) for place, value in zip(curve["distance"], curve["bias"])]
    fitted = ((place, fit["a"] * math.log1p(place) + fit["b"]) for place in curve["distance"])
    return measured + [row(system, FIT, value, place=place) for place, value in fitted]


@styled
def draw(results):
    """Return a figure: panels of cumulative gradients, attention distances by layer, and biases with their fits.

    results: {label: rows}.
    """
    styles = styles_of(results)
    drawn = []
    for label, rows in results.items():
        prefix = f"{label}: " if len(results) > 1 else ""
        drawn += [(function, prefix + title, part) for function, title, part in panels_of_result(rows)]
    columns = min(COLUMNS_OF_PANELS, len(drawn))
    figure, axes = panels(-(-len(drawn) // columns), columns, width=3.3, height=2.4)
    for panel in axes.flat[len(drawn) :]:
        panel.set_axis_off()
    for panel, (function, title, part) in zip(axes.flat, drawn):
        function(panel, part, styles)
        panel.set_title(title)
    legend_beside(figure, [panel for panel in axes.flat if panel.get_legend() is None])
    return figure


def panels_of_result(rows):
    """[(function that draws a panel, its title, its rows)]."""
    result = []
    for quantity, function in ((SHARE, shares), (DISTANCE, distances)):
        part = [row for row in rows if row["quantity"] == quantity]
        for pattern, of_pattern in panels_of(part).items() if part else ():
            for length, of_length in groups(of_pattern, "length").items():
                result.append((function, f"{length} tokens" + (f", {pattern}" if pattern else ""), of_length))
    of_bias = [row for row in rows if row["quantity"] in (BIAS, FIT)]
    of_dims = [row for row in of_bias if row["dim"] is not None]
    if of_dims:
        first = [row for row in of_dims if row["dim"] == of_dims[0]["dim"]]
        title = f"{first[0]['name']}, {first[0]['dim']} dimensions"
        result += [(matrix, title, first), (biases, title, first)]
        if len(first) < len(of_dims):
            of_all = [row for row in of_dims if row["quantity"] == BIAS]
            result.append((biases, f"{first[0]['name']} by dimensions", of_all))
    for name, of_name in groups([row for row in of_bias if row["dim"] is None], "name").items():
        for layer, part in groups(of_name, "layer").items():
            several = len(groups(of_name, "layer")) > 1
            result.append((biases, f"{name}, bias" + (f" of layer {layer}" if several else ""), part))
    return result


def shares(panel, rows, styles):
    """Draw the cumulative share of the gradient over the number of most recent tokens, one line per system."""
    for name, points in groups(rows, "name").items():
        style = {**styles[name], "marker": None}
        panel.plot([p["place"] for p in points], [p["value"] for p in points], **style, label=name)
    panel.axhline(0.99, color="black", linestyle=":", linewidth=0.8)
    panel.set_xlabel("most recent tokens")
    panel.set_ylabel(SHARE)
    panel.set_ylim(0, 1.03)


def distances(panel, rows, styles):
    """Draw the mean attention distance over layers, one line per system."""
    for name, points in groups(rows, "name").items():
        panel.plot([p["layer"] for p in points], [p["value"] for p in points], **styles[name], label=name)
    panel.set_xlabel("layer")
    panel.set_ylabel("mean attention distance")
    panel.set_ylim(0, 1.08 * max(row["value"] for row in rows))
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))


def biases(panel, rows, styles):
    """Draw biases and their fits (dashed) over the distance: one line per head or ``dim``, from dark to light."""
    key = "head" if rows[0]["dim"] is None else "dim"
    lines = groups(rows, key)
    for number, (value, of_line) in enumerate(sorted(lines.items(), key=lambda item: item[0] or 0)):
        colour = mpl.colormaps["viridis"](0.9 * number / max(len(lines) - 1, 1))
        for quantity, points in groups(of_line, "quantity").items():
            style = {"linewidth": 1} if quantity == BIAS else {"linewidth": 1.2, "linestyle": "--", "color": VERMILLION}
            label = f"{value} dimensions" if key == "dim" else f"head {value}"
            label = label if quantity == BIAS else "a log(1 + distance) + b" if number == 0 else None
            x, y = [p["place"] for p in points], [p["value"] for p in points]
            panel.plot(x, y, **{"color": colour, **style}, label=label)
    values = [row["value"] for row in rows]
    panel.set_ylim(top=max(values) + 0.4 * (max(values) - min(values)))
    # This panel has its own legend, above the lines, because heads are not systems.
    columns = -(-(len(lines) + 1) // 4)
    panel.legend(fontsize=6, ncols=columns, loc="upper right", labelspacing=0.3, columnspacing=0.8, handlelength=1.4)
    panel.set_xlabel("distance")
    panel.set_ylabel("bias")


def matrix(panel, rows, styles):
    """Draw the bias as a matrix of queries and keys, in 256 steps."""
    points = [row for row in rows if row["quantity"] == BIAS]
    length = points[0]["length"]
    places = np.linspace(0, length - 1, 256)
    values = np.interp(
        places[:, None] - places, [p["place"] for p in points], [p["value"] for p in points], left=math.nan
    )
    image = panel.imshow(values, extent=(0, length, length, 0), aspect="auto", cmap="viridis")
    panel.figure.colorbar(image, ax=panel)
    panel.grid(visible=False)
    panel.set_xlabel("key position")
    panel.set_ylabel("query position")
