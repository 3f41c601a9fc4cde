"""Heat maps side by side: numbers by encoding, and by something else across."""

from fairseq_posenc.plots.style import name_result, panels

#: Sizes in inches; LOWEST leaves room for the title of the colours.
CELL, MARGIN, LABELS, LOWEST = 0.42, 0.3, 1.3, 2.4


def heat_maps(drawn, names, columns, digits, title, most=None):
    """Return a figure: a row of heat maps per result.

    Args:
        drawn: {label of a result: {title of a map: {(name, column): number}}}.
        names, columns: down and across, the same in all maps.
        digits: decimals of the numbers.
        title: of the colours.
        most: the number of the brightest colour; None: the largest number of each map.
    """
    width, height = CELL * len(columns) + MARGIN, max(CELL * 0.55 * len(names) + LABELS, LOWEST)
    across = max(map(len, drawn.values()))
    figure, axes = panels(len(drawn), across, width, height, legend=LABELS + 0.8, sharex=True, sharey=True)
    image = None
    for line, (label, maps) in zip(axes, drawn.items()):
        for panel in line[len(maps) :]:
            panel.set_axis_off()
        for panel, (name, values) in zip(line, maps.items()):
            image = heat_map(panel, values, names, columns, digits, most or max(values.values()) or 1)
            panel.set_title(name, loc="center")
        if len(drawn) > 1:
            name_result(line[0], label, pad=14)
    figure.colorbar(image, ax=axes, label=title, fraction=0.03, pad=0.01)
    return figure


def heat_map(panel, values, names, columns, digits, most):
    """Draw one map with its numbers; a cell without a number stays white. Returns the image, in % of ``most``."""
    table = [[100 * values.get((name, column), float("nan")) / most for column in columns] for name in names]
    image = panel.imshow(table, cmap="viridis", vmin=0, vmax=100, aspect="auto")
    for line, name in enumerate(names):
        for place, column in enumerate(columns):
            value = values.get((name, column))
            if value is not None:
                colour = "white" if value < 0.6 * most else "black"
                panel.text(place, line, f"{value:.{digits}f}", ha="center", va="center", fontsize=6, color=colour)
    panel.set_xticks(range(len(columns)), columns, rotation=45, ha="right", rotation_mode="anchor")
    panel.set_yticks(range(len(names)), names)
    panel.grid(visible=False)
    panel.tick_params(length=0)
    return image
