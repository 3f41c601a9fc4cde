"""Receptive fields, attention distances and biases, from ``fairseq-posenc receptive-field``: Figures 4 to 13 of Chi et
al. (2023)."""

import math
import statistics

import matplotlib as mpl
import numpy as np
from matplotlib.ticker import MaxNLocator

from fairseq_posenc.plots.extrapolation import panels_of
from fairseq_posenc.plots.style import VERMILLION, legend_beside, line_styles, panels, styled
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
    """Return rows of means over seeds.

    ``cumulative gradient`` at numbers of most recent tokens, ``erf``, ``attention distance`` of each ``layer``; and
    ``bias`` and ``fitted bias`` at distances for each ``head``, of the first checkpoint of a name, or for each ``dim``.
    """
    found = []
    for (name, pattern, length), cells in groups(record.get("cells", ()), "name", "pattern", "length").items():
        system = {"name": name, "pattern": pattern, "length": length, "seeds": len(cells)}
        found.append(row(system, ERF, statistics.fmean(cell["erf"] for cell in cells)))
        of_layers = zip(*(cell["attention_distance"]["by_layer"] for cell in cells))
        for layer, values in enumerate(of_layers, start=1):
            found.append(row(system, DISTANCE, statistics.fmean(values), layer=layer))
        shares = zip(*(cell["curve"]["share"] for cell in cells))
        for place, values in zip(cells[0]["curve"]["tokens"], shares):
            found.append(row(system, SHARE, statistics.fmean(values), place=place))
    first_path = {}
    for curve in record["biases"]:
        if first_path.setdefault(curve["name"], curve.get("path")) == curve.get("path"):
            found += bias_rows(curve)
    return found


def row(system, quantity, value, **place):
    return {**dict.fromkeys(COLUMNS), **system, "quantity": quantity, **place, "value": value}


def bias_rows(curve):
    """The rows of one bias and of its fit through all distances."""
    length = curve["distance"][-1] + 1
    kind = {
        "layer": curve["layers"][0] if "layers" in curve else None,
        "head": curve.get("head"),
        "dim": curve.get("dim"),
    }
    system, fit = {"name": curve["name"], "length": length, "seeds": 1, **kind}, curve["fits"]["all"]
    found = [row(system, BIAS, value, place=place) for place, value in zip(curve["distance"], curve["bias"])]
    fitted = ((place, fit["a"] * math.log1p(place) + fit["b"]) for place in curve["distance"])
    return found + [row(system, FIT, value, place=place) for place, value in fitted]


@styled
def draw(results):
    """Return a figure: panels of cumulative gradients, attention distances by layer, and biases with their fits.

    results: {label: rows}.
    """
    styles = line_styles(list(dict.fromkeys(row["name"] for rows in results.values() for row in rows)))
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
    found = []
    for quantity, function in ((SHARE, shares), (DISTANCE, distances)):
        part = [row for row in rows if row["quantity"] == quantity]
        for pattern, of_pattern in panels_of(part).items() if part else ():
            for length, of_length in groups(of_pattern, "length").items():
                found.append((function, f"{length} tokens" + (f", {pattern}" if pattern else ""), of_length))
    of_bias = [row for row in rows if row["quantity"] in (BIAS, FIT)]
    of_dims = [row for row in of_bias if row["dim"] is not None]
    if of_dims:
        first = [row for row in of_dims if row["dim"] == of_dims[0]["dim"]]
        title = f"{first[0]['name']}, {first[0]['dim']} dimensions"
        found += [(matrix, title, first), (biases, title, first)]
        if len(first) < len(of_dims):
            of_all = [row for row in of_dims if row["quantity"] == BIAS]
            found.append((biases, f"{first[0]['name']} by dimensions", of_all))
    for name, of_name in groups([row for row in of_bias if row["dim"] is None], "name").items():
        for layer, part in groups(of_name, "layer").items():
            several = len(groups(of_name, "layer")) > 1
            found.append((biases, f"{name}, bias" + (f" of layer {layer}" if several else ""), part))
    return found


def shares(panel, rows, styles):
    """Cumulative share of the gradient over the number of most recent tokens, a line a system."""
    for name, mine in groups(rows, "name").items():
        look = {**styles[name], "marker": None}
        panel.plot([row["place"] for row in mine], [row["value"] for row in mine], **look, label=name)
    panel.axhline(0.99, color="black", linestyle=":", linewidth=0.8)
    panel.set_xlabel("most recent tokens")
    panel.set_ylabel(SHARE)
    panel.set_ylim(0, 1.03)


def distances(panel, rows, styles):
    """Mean attention distance over layers, a line a system."""
    for name, mine in groups(rows, "name").items():
        panel.plot([row["layer"] for row in mine], [row["value"] for row in mine], **styles[name], label=name)
    panel.set_xlabel("layer")
    panel.set_ylabel("mean attention distance")
    panel.set_ylim(0, 1.08 * max(row["value"] for row in rows))
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))


def biases(panel, rows, styles):
    """A bias and its fit (dashed) over the distance: a line a head or a number of dimensions, from dark to light."""
    key = "head" if rows[0]["dim"] is None else "dim"
    lines = groups(rows, key)
    for number, (value, of_line) in enumerate(sorted(lines.items(), key=lambda item: item[0] or 0)):
        colour = mpl.colormaps["viridis"](0.9 * number / max(len(lines) - 1, 1))
        for quantity, mine in groups(of_line, "quantity").items():
            look = {"linewidth": 1} if quantity == BIAS else {"linewidth": 1.2, "linestyle": "--", "color": VERMILLION}
            label = f"{value} dimensions" if key == "dim" else f"head {value}"
            label = label if quantity == BIAS else "a log(1 + distance) + b" if number == 0 else None
            panel.plot(
                [row["place"] for row in mine], [row["value"] for row in mine], **{"color": colour, **look}, label=label
            )
    values = [row["value"] for row in rows]
    panel.set_ylim(top=max(values) + 0.4 * (max(values) - min(values)))
    # A legend of its own, in the room above, as heads are not systems.
    columns = -(-(len(lines) + 1) // 4)
    panel.legend(fontsize=6, ncols=columns, loc="upper right", labelspacing=0.3, columnspacing=0.8, handlelength=1.4)
    panel.set_xlabel("distance")
    panel.set_ylabel("bias")


def matrix(panel, rows, styles):
    """The bias as a matrix of queries and keys, in 256 steps."""
    mine = [row for row in rows if row["quantity"] == BIAS]
    length = mine[0]["length"]
    places = np.linspace(0, length - 1, 256)
    values = np.interp(
        places[:, None] - places, [row["place"] for row in mine], [row["value"] for row in mine], left=math.nan
    )
    image = panel.imshow(values, extent=(0, length, length, 0), aspect="auto", cmap="viridis")
    panel.figure.colorbar(image, ax=panel)
    panel.grid(visible=False)
    panel.set_xlabel("key position")
    panel.set_ylabel("query position")
