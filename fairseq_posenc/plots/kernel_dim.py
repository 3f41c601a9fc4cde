"""BLEU by the dimension of PosNet's kernels, from a table of trained systems: Figure 3 of Zhang et al. (2023)."""

import re
from statistics import mean

from fairseq_posenc.plots.style import fill, line_styles, panels, styled
from fairseq_posenc.tables import groups

COLUMNS = {"pair": str, "kernel_dim": int, "bleu": float}
REQUIRED = ("pair", "kernel_dim", "bleu")

OPTION = re.compile(r"--posnet-dim[ =](\d+)")


def rows(record):
    """Return a row for each training run whose system has a kernel dimension in its ``options``."""
    result = []
    for pair, table in record["pairs"].items():
        for system in table["systems"]:
            option = OPTION.search(system.get("options") or "")
            if option:
                numbers = {"pair": pair, "kernel_dim": int(option[1])}
                result += [{**numbers, "bleu": run["bleu"]} for run in system["trainings"]]
    return result


@styled
def draw(results):
    """Return a figure: a row of panels per result, one panel per language pair.

    The line shows the mean over the training runs of a dimension, the whiskers go from the lowest to the highest run.
    results: {label: rows}.
    """
    pairs = list(dict.fromkeys(row["pair"] for rows in results.values() for row in rows))
    style = line_styles(["posnet-embed"])["posnet-embed"]
    figure, axes = panels(len(results), len(pairs), width=3.4, height=2.6, legend=0)

    def one_panel(panel, pair, rows):
        scores_by_dim(panel, rows, style)
        panel.set_xlabel("kernel dimension")
        panel.set_ylabel(f"BLEU, {pair}")

    fill(axes, results, "pair", pairs, one_panel)
    return figure


def scores_by_dim(panel, rows, style):
    """Draw the rows of one language pair."""
    by_dim = groups(sorted(rows, key=lambda row: row["kernel_dim"]), "kernel_dim")
    scores = [[row["bleu"] for row in runs] for runs in by_dim.values()]
    means = [mean(of_dim) for of_dim in scores]
    spread = [[m - min(s) for m, s in zip(means, scores)], [max(s) - m for m, s in zip(means, scores)]]
    panel.errorbar(list(by_dim), means, yerr=spread, capsize=2, markersize=6, **style)
    panel.set_xscale("log", base=2)
    panel.set_xticks(list(by_dim), [str(dim) for dim in by_dim])
    panel.minorticks_off()
