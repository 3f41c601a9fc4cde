"""Accuracy by length: curves of tables of examples/length."""

from fairseq_posenc.plots.length_task_rows import CURVE_COLUMNS
from fairseq_posenc.plots.style import fill, legend_beside, line_styles, panels, styled
from fairseq_posenc.tables import groups

COLUMNS = CURVE_COLUMNS
REQUIRED = ("task", "name", "trained", "length", "exact", "token_oracle")
TITLES = {"exact": "exact match in %", "token_oracle": "tokens right in %,\nwith the length given"}


@styled
def draw(results):
    """Return a figure: two rows of panels per result, exact match and accuracy per token, one panel for each task.

    results: {label: rows}.
    """
    everything = [row for rows in results.values() for row in rows]
    tasks = list(groups(everything, "task"))
    styles = line_styles(list(groups(everything, "name")))
    figure, axes = panels(len(TITLES) * len(results), len(tasks), width=2.3, height=1.9, sharex="col", sharey=True)
    for number, (measure, title) in enumerate(TITLES.items()):

        def one_panel(panel, task, rows, measure=measure, title=title):
            for name, points in groups(rows, "name").items():
                x, y = [row["length"] for row in points], [row[measure] for row in points]
                panel.plot(x, y, **{**styles[name], "marker": ""}, label=name)
            panel.axvline(rows[0]["trained"], color="black", linestyle=":", linewidth=0.8)
            panel.set_ylim(-3, 103)
            if task == tasks[0]:
                panel.set_ylabel(title)
            if measure == "exact":
                panel.set_title(task, loc="center")
            else:
                panel.set_xlabel("length")

        fill(axes[number :: len(TITLES)], results, "task", tasks, one_panel)
    legend_beside(figure, axes.flat)
    return figure
