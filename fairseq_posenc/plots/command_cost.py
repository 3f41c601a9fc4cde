"""Speed of whole commands relative to stock fairseq, and their time by part, from ``bench --commands``."""

from fairseq_posenc.plots.cost import bars, three_digits
from fairseq_posenc.plots.style import COLOURS, VERMILLION, legend_beside, name_result, panels, styled
from fairseq_posenc.tables import groups

COLUMNS = {"command": str, "system": str, "quantity": str, "value": float, "low": float, "high": float, "unit": str}
REQUIRED = ("command", "system", "quantity", "value", "unit")

RATE, RATIO, BOUND = "rate", "ratio", "bound"
#: Part of the time -> its colour.
PARTS = dict(zip(("search", "output", "encoder", "feed_forward", "attention", "cache", "optimizer", "rest"), COLOURS))
CHOICES = {"quantity": (RATE, RATIO, BOUND, *PARTS)}


def rows(record):
    """Return rows for each command and system.

    "rate" (units per second) and "ratio" (to the rate of stock) have quartiles as ``low`` and ``high``; "bound" is the
    ratio that matrix products alone would have; the other quantities are parts, in seconds per batch.
    """
    result = []
    for command, measured in record["commands"].items():
        stock = measured["systems"]["stock"]["rate"]
        for system, found in measured["systems"].items():
            numbers = [
                (RATE, found["rate"], *found["quartiles"], f"{measured['unit']}/s"),
                (RATIO, found["ratio_to_stock"], *found["ratio_quartiles"], "x"),
                (BOUND, found["bound"] / stock, None, None, "x"),
                *((part, seconds, None, None, "s") for part, seconds in found["profile"]["parts"].items()),
            ]
            result += [dict(zip(COLUMNS, (command, system, *of_quantity))) for of_quantity in numbers]
    return result


@styled
def draw(results):
    """Return a figure: two rows of panels per result, speeds above and times by part below; one column per command.

    results: {label: rows}.
    """
    commands = list(dict.fromkeys(row["command"] for rows in results.values() for row in rows))
    heights = [0.8 + 0.22 * len(groups(rows, "system")) for rows in results.values() for _ in range(2)]
    mean_height = sum(heights) / len(heights)
    figure, axes = panels(2 * len(results), len(commands), 3.6, mean_height, height_ratios=heights)
    for line, (label, rows) in enumerate(results.items()):
        of_commands = groups(rows, "command")
        for command, *both in zip(commands, *axes[2 * line : 2 * line + 2]):
            for panel, draw_panel in zip(both, (speeds, times)):
                if command in of_commands:
                    draw_panel(panel, command, of_commands[command])
                else:
                    panel.set_axis_off()
        if len(results) > 1:
            name_result(next(panel for panel in axes[2 * line] if panel.axison), label)
    legend_beside(figure, axes.flat)
    return figure


def speeds(panel, command, rows):
    """Draw one bar per system with the ratio to stock, and its bound; the rate is written at the right."""
    by_quantity = {quantity: [row for row in rows if row["quantity"] == quantity] for quantity in (RATE, RATIO, BOUND)}
    rates = {row["system"]: three_digits(row["value"]) for row in by_quantity[RATE]}
    ratios = [{**row, "text": rates.get(row["system"])} for row in by_quantity[RATIO]]
    places = {row["system"]: place for place, row in enumerate(ratios)}
    bounds = [row for row in by_quantity[BOUND] if row["system"] in places]
    if ratios:
        bars(panel, ratios)
    panel.plot(
        [row["value"] for row in bounds],
        [places[row["system"]] for row in bounds],
        marker="|",
        markersize=12,
        markeredgewidth=2,
        linestyle="none",
        color=VERMILLION,
        label="matrix products alone",
    )
    unit = f" (right: {by_quantity[RATE][0]['unit']})" if rates else ""
    panel.set_xlabel(f"{command}: speed relative to stock{unit}")


def times(panel, command, rows):
    """Draw one bar per system with the parts of its time."""
    systems = groups([row for row in rows if row["quantity"] in PARTS], "system")
    for place, parts in enumerate(systems.values()):
        begin = 0.0
        for row in parts:
            name = row["quantity"]
            label = name.replace("_", " ")
            panel.barh(place, row["value"], left=begin, height=0.7, color=PARTS[name], alpha=0.7, label=label)
            begin += row["value"]
    panel.set_ylim(len(systems) - 0.5, -0.5)
    panel.set_yticks(range(len(systems)), systems)
    panel.grid(axis="y", visible=False)
    panel.set_xlabel(f"{command}: seconds per batch, by part")
