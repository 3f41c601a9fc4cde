"""How figures look: a line of its own for every system, the same in every figure, and readable by the colour-blind."""

import zlib

from fairseq_posenc.errors import InputError
from fairseq_posenc.tables import groups

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
except ModuleNotFoundError:
    raise InputError(
        "drawing needs matplotlib; install it with: pip install 'fairseq-posenc[plots]' (or run scripts/setup.sh)"
    ) from None

# Okabe and Ito's colours, which differ for the colour-blind too; without their yellow, which is faint on white.
BLACK, GREY = "#000000", "#808080"
ORANGE, SKY, GREEN, BLUE, VERMILLION, PURPLE = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"
COLOURS = (BLACK, ORANGE, SKY, GREEN, BLUE, VERMILLION, PURPLE, GREY)
DASHES = ("-", "--", ":", "-.")

# The seven systems of Zhang et al. (2023) have a colour each and solid lines; relatives share a colour.
LINES = {
    "none": (GREY, "-", "x"),
    "sinusoidal": (BLACK, "-", "o"),
    "stock": (BLACK, ":", "o"),
    "learned": (SKY, "-", "v"),
    "shaw": (GREEN, "-", "s"),
    "t5": (GREEN, "--", "D"),
    "adaptive-t5": (ORANGE, "-", "^"),
    "posnet-embed": (VERMILLION, "-", "*"),
    "posnet-attn": (PURPLE, "-", "P"),
    "alibi": (BLUE, "-", "<"),
    "sandwich": (BLUE, "--", ">"),
    "sandwich-smoothed": (BLUE, ":", "d"),
    "kerple-log": (PURPLE, "--", "h"),
    "kerple-power": (PURPLE, ":", "H"),
    "rope": (VERMILLION, "--", "p"),
    "xpos": (ORANGE, "--", "X"),
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

SETTINGS = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "legend.frameon": False,
    "text.parse_math": False,  # names of systems may hold dollar signs
    "pdf.fonttype": 42,  # text stays text
    "savefig.dpi": 200,
}


#: Decorator of functions that draw or save: matplotlib reads the settings at both times.
styled = mpl.rc_context(SETTINGS)


def line_styles(names):
    """Return {name: keywords for ``Axes.plot``}, distinct within ``names``.

    The encodings keep theirs in every figure. Another name gets one that follows from the name, or the next that is
    free where that is taken.
    """
    styles = {name: LINES[name] for name in names if name in LINES}
    taken = {style[:2] for style in styles.values()}
    free = [(colour, dash) for dash in DASHES for colour in COLOURS]
    for name in names:
        if name not in styles:
            start = zlib.crc32(name.encode())
            order = [free[(start + step) % len(COLOURS)] for step in range(len(COLOURS))] + free
            colour, dash = next((style for style in order if style not in taken), order[0])
            taken.add((colour, dash))
            styles[name] = (colour, dash, MARKERS[start % len(MARKERS)])
    return {
        name: {"color": colour, "linestyle": dash, "marker": marker} for name, (colour, dash, marker) in styles.items()
    }


def panels(rows, columns, width, height, legend=1.6, **options):
    """Return a figure and its (rows, columns) axes; sizes in inches: of one panel, and of the legend at the right.

    ``options`` are those of matplotlib's ``Figure.subplots``.
    """
    figure = Figure(figsize=(width * columns + legend, height * rows), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def name_result(axes, label, **options):
    """Write the name of a result over its first panel."""
    axes.set_title(label, loc="left", fontweight="bold", **options)


def logarithmic(panel):
    """Make the vertical axis logarithmic, with plain numbers: as powers they would be formulas."""
    panel.set_yscale("log")
    panel.yaxis.set_major_formatter("{x:g}")


def fill(axes, results, column, values, draw_panel):
    """Draw a row of panels a result, a panel for each of ``values`` of a column; one without rows is left empty.

    Args:
        results: {label: rows}.
        draw_panel: called with a panel, the value and its rows.
    """
    for line, (label, rows) in zip(axes, results.items()):
        parts = groups(rows, column)
        for panel, value in zip(line, values):
            if value in parts:
                draw_panel(panel, value, parts[value])
            else:
                panel.set_axis_off()
        if len(results) > 1:
            name_result(next(panel for panel in line if panel.axison), label)


def legend_beside(figure, axes):
    """Put the lines of these panels, each name once, to the right of all; a figure that is too low for it grows."""
    found = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels()):
            found.setdefault(label, handle)
    figure.legend(found.values(), found.keys(), loc="outside right upper")
    entry, margin = 0.2, 0.3  # inches
    figure.set_figheight(max(figure.get_figheight(), entry * len(found) + margin))


@styled
def save_image(figure, file, form):
    """Write the figure to an open binary file as "png" or "pdf", without a date, so that equal figures are equal."""
    figure.savefig(file, format=form, metadata={"CreationDate": None} if form == "pdf" else None)
