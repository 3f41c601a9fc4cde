"""Perplexity, resolution or receptive field by length, from a recipe's table, with separate panels for the paper."""

from fairseq_posenc.plots.extrapolation import one_panel, panels_of, scale
from fairseq_posenc.plots.length_rows import COLUMNS, REQUIRED, rows_of_table  # noqa: F401 (every kind needs them)
from fairseq_posenc.plots.style import legend_beside, line_styles, name_result, panels, styled
from fairseq_posenc.tables import groups

TITLES = {"erf": "receptive field in tokens"}
OWNERS = {"paper": "the paper's"}


def rows(record):
    """Return a row for each of our numbers and of the paper's; see length_rows.py."""
    return rows_of_table(record)


@styled
def draw(results):
    """Return a figure: a row of panels per result, one panel per text and pattern, first ours, then the paper's.

    results: {label: rows}.
    """
    drawn = {label: panels_of_result(rows) for label, rows in results.items()}
    names = [row["name"] for parts in drawn.values() for _, rows in parts for row in rows]
    styles = line_styles(list(dict.fromkeys(names)))
    figure, axes = panels(len(results), max(map(len, drawn.values())), width=3.4, height=2.6)
    for line, (label, parts) in zip(axes, drawn.items()):
        for panel in line[len(parts) :]:
            panel.set_axis_off()
        for panel, (title, rows) in zip(line, parts):
            one_panel(panel, rows, styles)
            scale([panel], [row["perplexity"] for row in rows])
            panel.set_title(title, loc="center")
        measure = results[label][0]["measure"]
        line[0].set_ylabel(TITLES.get(measure, measure))
        if len(results) > 1:
            name_result(line[0], label, pad=14)
    legend_beside(figure, axes.flat)
    return figure


def panels_of_result(rows):
    """[(title, rows for plots.extrapolation)]; lines are labelled by system if systems are distinct, else by row."""
    result = []
    for (owner, text), of_text in groups(rows, "owner", "text").items():
        values = [{**row, "name": row["system"], "perplexity": row["value"]} for row in of_text]
        for pattern, part in panels_of(values).items():
            if len(groups(part, "row")) > len(groups(part, "system")):
                part = [{**row, "name": row["row"]} for row in part]
            result.append((", ".join(title for title in (OWNERS.get(owner), text, pattern) if title), part))
    return result
