"""Perplexity by position in the text, from ``fairseq-posenc extrapolate --protocol by-position``."""

import math

from fairseq_posenc.plots.extrapolation import panels_of, scale, training_lengths
from fairseq_posenc.plots.style import legend_beside, mark_training_length, name_result, panels, styled, styles_of
from fairseq_posenc.tables import groups, mean_and_deviation

COLUMNS = {
    "name": str,
    "pattern": str,
    "length": int,
    "position": float,
    "seeds": int,
    "perplexity": float,
    "deviation": float,
    "training_length": int,
}
REQUIRED = ("name", "pattern", "length", "position")


def rows(record):
    """Return a row for each system, pattern, length and bucket of positions.

    ``position`` is the mean number of tokens that a model reads to predict the tokens of the bucket. ``perplexity`` is
    the mean over seeds, None if it is not finite; ``deviation`` is None with one seed.
    """
    trained = training_lengths(record)
    result = []
    for (name, pattern, length), cells in groups(record["cells"], "name", "pattern", "length").items():
        by_seed = [cell["positions"] for cell in cells]
        firsts = by_seed[0]["from"]
        for bucket, (first, after) in enumerate(zip(firsts, [*firsts[1:], length])):
            losses = [positions["loss"][bucket] for positions in by_seed]
            finite = None not in losses and max(losses) <= 700
            mean, deviation = mean_and_deviation([math.exp(loss) for loss in losses]) if finite else (None, None)
            result.append(
                {
                    "name": name,
                    "pattern": pattern,
                    "length": length,
                    "position": (first + 1 + after) / 2,
                    "seeds": len(losses),
                    "perplexity": mean,
                    "deviation": deviation,
                    "training_length": trained[name],
                }
            )
    return result


@styled
def draw(results):
    """Return a figure: a row of panels per result and pattern, one panel per length, one line per system.

    results: {label: rows}.
    """
    styles = styles_of(results)
    lines = [(label, title, part) for label, rows in results.items() for title, part in panels_of(rows).items()]
    lengths = sorted({row["length"] for rows in results.values() for row in rows})
    figure, axes = panels(len(lines), len(lengths), width=3.2, height=2.3, sharey="row")
    for line, (label, pattern, part) in zip(axes, lines):
        by_length = groups(part, "length")
        for panel, length in zip(line, lengths):
            if length not in by_length:
                panel.set_axis_off()
                continue
            one_panel(panel, by_length[length], styles)
            panel.set_title(", ".join(word for word in (f"{length} tokens", pattern) if word))
        line[0].set_ylabel("perplexity")
        scale(line, [row["perplexity"] for row in part])
        if len(results) > 1:
            name_result(line[0], label, pad=14)
    legend_beside(figure, axes.flat)
    return figure


def one_panel(panel, rows, styles):
    """Draw one line per system, with a band of one standard deviation, and a dotted line at the training length."""
    for name, of_system in groups(rows, "name").items():
        finite = [row for row in of_system if row["perplexity"] is not None]
        positions, values = [row["position"] for row in finite], [row["perplexity"] for row in finite]
        style = {**styles[name], "marker": None}
        panel.plot(positions, values, **style, label=name)
        spread = [row["deviation"] or 0 for row in finite]
        if any(spread):
            low, high = ([v + sign * s for v, s in zip(values, spread)] for sign in (-1, 1))
            panel.fill_between(positions, low, high, color=style["color"], alpha=0.15, linewidth=0)
    mark_training_length(panel, rows)
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_formatter("{x:.0f}")
    panel.set_xlabel("tokens read")
