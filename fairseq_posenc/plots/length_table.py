"""Perplexity, resolution or receptive field by length, from a recipe's table; the paper's in panels of their own."""

from fairseq_posenc.plots.extrapolation import one_panel, scale
from fairseq_posenc.plots.length_rows import COLUMNS, REQUIRED, rows_of_table  # noqa: F401 (a kind has them)
from fairseq_posenc.plots.style import legend_beside, line_styles, name_result, panels, styled
from fairseq_posenc.tables import groups

TITLES = {"erf": "receptive field in tokens"}


def rows(record):
    """Return a row for each number of ours and of the paper; see length_rows.py."""
    return rows_of_table(record)


@styled
def draw(results):
    """Return a figure: a row of panels a result, a panel a text, first ours, then the paper's; a line a row.

    results: {label: rows}.
    """
    styles = line_styles(list(dict.fromkeys(row["row"] for rows in results.values() for row in rows)))
    by_text = {label: groups(rows, "owner", "text") for label, rows in results.items()}
    columns = max(map(len, by_text.values()))
    figure, axes = panels(len(results), columns, width=3.4, height=2.6)
    for line, (label, texts) in zip(axes, by_text.items()):
        for panel in line[len(texts) :]:
            panel.set_axis_off()
        for panel, ((owner, text), rows) in zip(line, texts.items()):
            values = [{**row, "name": row["row"], "perplexity": row["value"]} for row in rows]
            one_panel(panel, values, styles)
            scale([panel], [row["value"] for row in rows])
            panel.set_title(text if owner == "ours" else f"the paper's, {text}", loc="center")
        measure = results[label][0]["measure"]
        line[0].set_ylabel(TITLES.get(measure, measure))
        if len(results) > 1:
            name_result(line[0], label, pad=14)
    legend_beside(figure, axes.flat)
    return figure
