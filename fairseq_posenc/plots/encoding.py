"""Encodings as functions of distance, from ``fairseq-posenc draw``: one line per head."""

import matplotlib as mpl

from fairseq_posenc.plots.style import legend_beside, line_styles, panels, styled
from fairseq_posenc.tables import groups

COLUMNS = {
    "encoding": str,
    "side": str,
    "weights": str,
    "measure": str,
    "head": int,
    "distance": int,
    "value": float,
}
REQUIRED = ("encoding", "side", "measure", "distance", "value")

SIDES = ("encoder", "decoder")
# Measure -> (label of its values, label of the distance).
AXES = {
    "bias": ("bias", "query \N{MINUS SIGN} key position"),
    "score": ("score / score at 0", "query \N{MINUS SIGN} key position"),
    "mixed value": ("change of a value", "query \N{MINUS SIGN} key position"),
    "embedding": ("cosine \N{MINUS SIGN} 1", "position of a word, against 0"),
    "value": ("cosine \N{MINUS SIGN} 1", "position of a value, against 0"),
}
#: The values allowed in these columns.
CHOICES = {"side": SIDES, "measure": tuple(AXES)}


def rows_of(name, side, weights, curves):
    """Return a row for each number of ``analysis.by_distance.curves``; ``head`` is None if all heads are equal.

    weights: "fixed" for an encoding without parameters, else "initial" or "trained".
    """
    return [
        {
            "encoding": name,
            "side": side,
            "weights": weights,
            "measure": measure,
            "head": head if len(values) > 1 else None,
            "distance": distance,
            "value": value,
        }
        for measure, (distances, values) in curves.items()
        for head, of_head in enumerate(values.tolist(), start=1)
        for distance, value in zip(distances, of_head)
    ]


@styled
def draw(results):
    """Return a figure: for each encoding and measure, a panel for the encoder and next to it one for the decoder.

    results: {label: rows}.
    """
    pairs = [
        (label, encoding, measure, groups(of_measure, "side"))
        for label, rows in results.items()
        for encoding, of_encoding in groups(rows, "encoding").items()
        for measure, of_measure in groups(of_encoding, "measure").items()
    ]
    sides = [side for side in SIDES if any(side in by_side for *_, by_side in pairs)]
    heads = max(row["head"] or 0 for rows in results.values() for row in rows)
    pairs_per_row = 2 if len(pairs) > 5 else 1  # so that many panels do not make a long, narrow figure
    lines, columns = -(-len(pairs) // pairs_per_row), pairs_per_row * len(sides)
    figure, axes = panels(lines, columns, width=2.7, height=1.9, legend=1.0 if heads else 0.2)
    for panel in axes.flat:
        panel.set_axis_off()
    places = axes.reshape(-1, len(sides))
    for place, (label, encoding, measure, by_side) in zip(places, pairs):
        drawn = [(panel, by_side[side]) for panel, side in zip(place, sides) if side in by_side]
        for panel, rows in drawn:
            panel.set_axis_on()
            if panel is not drawn[0][0]:
                panel.sharey(drawn[0][0])
            one_side(panel, rows, heads)
            panel.set_xlabel(AXES[measure][1])
            panel.set_ylabel(AXES[measure][0])
            title = f"{encoding}, {rows[0]['side']}"
            title += " (untrained)" if rows[0]["weights"] == "initial" else ""
            panel.set_title(f"{label}: {title}" if len(results) > 1 else title, loc="left")
    if heads:
        legend_beside(figure, axes.flat)
    return figure


def one_side(panel, rows, heads):
    """Draw one line per head, from dark to light, or a single line in the encoding's colour for all heads."""
    for head, points in groups(rows, "head").items():
        if head is None:
            style = {"color": line_styles([rows[0]["encoding"]])[rows[0]["encoding"]]["color"]}
        else:
            # Without the palest end of the colour map, which is faint on white.
            style = {"color": mpl.colormaps["viridis"](0.9 * (head - 1) / max(heads - 1, 1)), "label": f"head {head}"}
        panel.plot([point["distance"] for point in points], [point["value"] for point in points], **style)
