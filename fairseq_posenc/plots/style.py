"""The style of figures: every system has its own line style, the same in all figures, readable by the colour-blind."""

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

# Okabe and Ito's colours, which colour-blind readers can tell apart, without yellow, which is faint on white.
BLACK, GREY = "#000000", "#808080"
ORANGE, SKY, GREEN, BLUE, VERMILLION, PURPLE = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"
COLOURS = (BLACK, ORANGE, SKY, GREEN, BLUE, VERMILLION, PURPLE, GREY)
DASHES = ("-", "--", ":", "-.")

# The seven systems of Zhang et al. (2023) have different colours and solid lines; related encodings share a colour.
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
    "dynamic-bias": (GREEN, ":", "v"),
    "fire": (VERMILLION, ":", "^"),
    "forgetting": (SKY, "--", "s"),
    "transformer-xl": (SKY, ":", "P"),
    "cope": (PURPLE, "-.", "D"),
    "deberta": (GREEN, "-.", "<"),
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
    "text.parse_math": False,  # names of systems may contain dollar signs
    "pdf.fonttype": 42,  # embed fonts, so that text stays selectable
    "savefig.dpi": 200,
}


#: Decorator of functions that draw or save figures, because matplotlib reads the settings in both.
styled = mpl.rc_context(SETTINGS)


def line_styles(names):
    """Return {name: keyword arguments for ``Axes.plot``}, distinct within ``names``, in their order.

    Encodings have the same style in every figure. The style of another name follows from a hash of the name; if it is
    taken, the next free style is used. Over 32 names, some lines differ in their markers alone; over 256, some are the
    same.
    """
    styles = {name: LINES[name] for name in names if name in LINES}
    lines = {style[:2] for style in styles.values()}
    free = [(colour, dash) for dash in DASHES for colour in COLOURS]
    for name in names:
        if name not in styles:
            start = zlib.crc32(name.encode())
            order = [free[(start + step) % len(COLOURS)] for step in range(len(COLOURS))] + free
            markers = [MARKERS[(start + step) % len(MARKERS)] for step in range(len(MARKERS))]
            candidates = [(*line, markers[0]) for line in order if line not in lines]
            candidates += [(*line, marker) for marker in markers for line in order]
            taken = set(styles.values())
            styles[name] = next((style for style in candidates if style not in taken), candidates[0])
            lines.add(styles[name][:2])
    return {name: dict(zip(("color", "linestyle", "marker"), styles[name])) for name in names}


def styles_of(results, column="name"):
    """``line_styles`` of all systems, which a ``column`` names; results: {label: rows}."""
    return line_styles(list(dict.fromkeys(row[column] for rows in results.values() for row in rows)))


def mark_training_length(panel, rows):
    """Draw a dotted line at every training length of the rows."""
    for trained in {row["training_length"] for row in rows if row.get("training_length") is not None}:
        panel.axvline(trained, color="black", linestyle=":", linewidth=0.8)


def panels(rows, columns, width, height, legend=1.6, **options):
    """Return a figure and its (rows, columns) axes; sizes of a panel and of the legend at the right are in inches.

    ``options`` are passed to matplotlib's ``Figure.subplots``.
    """
    figure = Figure(figsize=(width * columns + legend, height * rows), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def name_result(axes, label, **options):
    """Write the name of a result above its first panel."""
    axes.set_title(label, loc="left", fontweight="bold", **options)


def logarithmic(panel):
    """Make the vertical axis logarithmic, with plain numbers, because powers of ten need the disabled math text."""
    panel.set_yscale("log")
    panel.yaxis.set_major_formatter("{x:g}")


def fill(axes, results, column, values, draw_panel):
    """Draw a row of panels per result, with one panel per value of a column; panels without rows stay empty.

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
    """Add one legend for all these panels at the right, each name once; enlarge the figure if it is too low."""
    handles = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), handles.keys(), loc="outside right upper")
    entry, margin = 0.2, 0.3  # inches
    figure.set_figheight(max(figure.get_figheight(), entry * len(handles) + margin))


@styled
def save_image(figure, file, form):
    """Write the figure to a binary file as "png" or "pdf", without a date, so that equal figures give equal files."""
    figure.savefig(file, format=form, metadata={"CreationDate": None} if form == "pdf" else None)
