"""BLEU in bands of source lengths, by encoding, positions and training text: heat maps of tables of examples/wmt14."""

from fairseq_posenc.plots.length_band_rows import COLUMNS, REQUIRED, rows_of_bands  # noqa: F401 (every kind needs them)
from fairseq_posenc.plots.style import name_result, panels, styled
from fairseq_posenc.tables import groups

#: Sizes in inches; LOWEST leaves room for the title of the colours.
CELL, MARGIN, LABELS, LOWEST = 0.42, 0.3, 1.3, 2.4


def rows(record):
    """Return a row for each system and band; see length_band_rows.py."""
    return rows_of_bands(record)


def column_of(row):
    """The column of a row's cell, such as ``random, joined``."""
    return f"{row['positions'].partition(':')[0]}, {row['text']}"


@styled
def draw(results):
    """Return a figure: a row of heat maps per result, one for each band, with encodings down.

    Colours are relative to the best system of a map. results: {label: rows}.
    """
    everything = [row for rows in results.values() for row in rows]
    names, columns = list(groups(everything, "encoding")), list(dict.fromkeys(map(column_of, everything)))
    drawn = {label: groups(rows, "band") for label, rows in results.items()}
    width, height = CELL * len(columns) + MARGIN, max(CELL * 0.55 * len(names) + LABELS, LOWEST)
    most = max(map(len, drawn.values()))
    figure, axes = panels(len(results), most, width, height, legend=LABELS + 0.8, sharex=True, sharey=True)
    image = None
    for line, (label, bands) in zip(axes, drawn.items()):
        for panel in line[len(bands) :]:
            panel.set_axis_off()
        for panel, (band, rows) in zip(line, bands.items()):
            image = heat_map(panel, rows, columns, names)
            lower, upper = rows[0]["from"], rows[0]["to"]
            joined = f"joined, over {lower - 1}" if upper is None else f"joined, {lower}-{upper}"
            panel.set_title("one sentence" if band == "single" else joined, loc="center")
        if len(results) > 1:
            name_result(line[0], label, pad=14)
    figure.colorbar(image, ax=axes, label="BLEU, share of the best", fraction=0.03, pad=0.01)
    return figure


def heat_map(panel, rows, columns, names):
    """Draw the scores of one band, with their values; a cell without a system stays white. Returns the image."""
    values = {(row["encoding"], column_of(row)): row["bleu"] for row in rows}
    best = max(values.values()) or 1
    table = [[values.get((name, column), float("nan")) / best for column in columns] for name in names]
    image = panel.imshow(table, cmap="viridis", vmin=0, vmax=1, aspect="auto")
    for line, name in enumerate(names):
        for place, column in enumerate(columns):
            value = values.get((name, column))
            if value is not None:
                colour = "white" if value < 0.6 * best else "black"
                panel.text(place, line, f"{value:.1f}", ha="center", va="center", fontsize=6, color=colour)
    panel.set_xticks(range(len(columns)), columns, rotation=45, ha="right", rotation_mode="anchor")
    panel.set_yticks(range(len(names)), names)
    panel.grid(visible=False)
    panel.tick_params(length=0)
    return image
