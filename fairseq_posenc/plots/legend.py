"""One legend for panels that do not all show the same lines."""


def legend_of_all(figure, axes):
    """Put the lines of all panels, each name once, to the right of them; a figure that is too low for it grows."""
    found = {}
    for panel in axes.flat:
        for handle, label in zip(*panel.get_legend_handles_labels()):
            found.setdefault(label, handle)
    figure.legend(found.values(), found.keys(), loc="outside right upper")
    entry, margin = 0.2, 0.3  # inches
    figure.set_figheight(max(figure.get_figheight(), entry * len(found) + margin))
