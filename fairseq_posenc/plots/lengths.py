"""BLEU by source length, from ``fairseq-posenc lengths``."""

from fairseq_posenc.plots.style import legend_beside, name_result, panels, styled, styles_of

COLUMNS = {
    "from": int,
    "to": int,
    "sentences": int,
    "mean_words": float,
    "longest_trained": int,
    "system": str,
    "bleu": float,
    "chrf++": float,
    "length_ratio": float,
    "bleu_p": float,
    "bleu_mark": str,
}
REQUIRED = ("from", "to", "sentences", "mean_words", "system", "bleu")


def rows(record):
    """Return a row for each bucket and system; in the last bucket, ``to`` is the length of its longest sentence."""
    return [
        {
            "from": bucket["from"],
            "to": bucket["longest"] if bucket["to"] is None else bucket["to"],
            "sentences": bucket["sentences"],
            "mean_words": bucket["words"] / bucket["sentences"],
            "longest_trained": record["longest_trained"],
            "system": system,
            **scores,
            "bleu_p": comparison.get("p"),
            "bleu_mark": comparison.get("mark") or None,
        }
        for bucket in record["buckets"]
        for system, scores in bucket["scores"].items()
        for comparison in [bucket.get("significance", {}).get(system, {})]  # older results have none
    ]


@styled
def draw(results):
    """Return a figure: one column per result, with BLEU over the mean length of each bucket, and its size below.

    results: {label: rows}.
    """
    styles = styles_of(results, "system")
    figure, axes = panels(2, len(results), width=4.2, height=1.9, height_ratios=(3, 1), sharex="col")
    for column, (label, rows) in enumerate(results.items()):
        scores, counts = axes[:, column]
        for system in styles:
            points = [row for row in rows if row["system"] == system]
            scores.plot([p["mean_words"] for p in points], [p["bleu"] for p in points], **styles[system], label=system)
        scores.set_ylabel("BLEU")
        buckets = {row["from"]: row for row in rows}.values()
        edges = [(max(row["from"], 1) - 0.5, row["to"] + 0.5) for row in buckets]
        widths = [right - left for left, right in edges]
        lefts = [left for left, _ in edges]
        counts.bar(lefts, [r["sentences"] for r in buckets], widths, align="edge", color="#BBBBBB", edgecolor="white")
        # Starts below 1, so that a bucket with one sentence is visible.
        counts.set_yscale("log")
        counts.set_ylim(bottom=0.7)
        counts.yaxis.set_major_formatter("{x:.0f}")
        counts.set_ylabel("sentences")
        counts.set_xlabel("words of the source sentence")
        longest = rows[0]["longest_trained"]
        if longest is not None:
            for panel in (scores, counts):
                panel.axvline(longest, color="black", linestyle="--", linewidth=0.8)
            place = {"xycoords": ("data", "axes fraction"), "xytext": (0, 2), "textcoords": "offset points"}
            scores.annotate("longest in training", (longest, 1), **place, ha="center", va="bottom", fontsize=8)
        if len(results) > 1:
            name_result(scores, label, pad=14)
    legend_beside(figure, axes.flat)
    return figure
