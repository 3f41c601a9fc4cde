"""Figures of the commands that examine language models: where their lines go."""

import copy
import io
import math

import pytest

from fairseq_posenc.plots.results import KINDS
from tests.support.language_model_records import (
    BY_POSITION,
    CLOSED_BIASES,
    EXTRAPOLATION,
    RECEPTIVE_FIELD,
    RESOLUTION,
    checkpoint,
)


def draw(record, label="result"):
    module = KINDS[record["kind"]]
    return module.draw({label: module.rows(record)})


def points(panel, label):
    """The line of that name: (x, y)."""
    containers = {container.get_label(): container.lines[0] for container in panel.containers}
    line = containers.get(label) or next(line for line in panel.lines if line.get_label() == label)
    return line.get_xdata().tolist(), line.get_ydata().tolist()


def test_perplexity_by_length_has_a_panel_per_pattern():
    full, blockwise = draw(EXTRAPOLATION).axes
    assert (full.get_title(), blockwise.get_title()) == ("full", "blockwise:16")
    assert points(full, "rope") == ([16, 64], [6.0, 48.0]) and points(full, "xpos") == ([16, 64], [5.5, 5.25])
    # What is not finite is left out.
    assert points(blockwise, "rope") == ([16], [6.0]) and points(blockwise, "xpos") == ([16, 64], [5.5, 5.0])
    assert full.get_yscale() == blockwise.get_yscale() == "log" and full.get_xscale() == "log"
    whiskers = next(container for container in full.containers if container.get_label() == "rope").lines[2][0]
    assert [segment[:, 1].tolist() for segment in whiskers.get_segments()] == [[5.75, 6.25], [44.0, 52.0]]
    assert [line.get_xdata()[0] for line in full.lines if line.get_linestyle() == ":"] == [16]


def test_systems_with_a_pattern_each_share_a_panel():
    record = copy.deepcopy(EXTRAPOLATION)
    record["summary"] = [
        row for row in record["summary"] if (row["name"] == "xpos") == (row["pattern"] == "blockwise:16")
    ]
    (panel,) = draw(record).axes
    assert points(panel, "xpos") == ([16, 64], [5.5, 5.0]) and points(panel, "rope") == ([16, 64], [6.0, 48.0])


def test_similar_perplexities_have_a_linear_axis():
    record = copy.deepcopy(EXTRAPOLATION)
    record["summary"] = [row for row in record["summary"] if row["perplexity"] != 48.0]
    assert draw(record).axes[0].get_yscale() == "linear"


def test_perplexity_by_position_is_the_mean_over_seeds():
    rows = KINDS["by-position"].rows(BY_POSITION)
    # Buckets of the positions 0 and 1, and 2 to 7: tokens before which 1.5 and 5.5 are read on average.
    assert [(row["name"], row["position"], row["seeds"]) for row in rows] == [
        ("xpos", 1.5, 2),
        ("xpos", 5.5, 2),
        ("rope", 1.5, 1),
        ("rope", 5.5, 1),
    ]
    assert rows[0]["perplexity"] == pytest.approx((1 + math.e) / 2)
    assert rows[0]["deviation"] == pytest.approx((math.e - 1) / math.sqrt(2)) and rows[1]["deviation"] == 0
    assert rows[3]["perplexity"] is None and rows[2]["deviation"] is None
    (panel,) = draw(BY_POSITION).axes
    assert panel.get_title() == "8 tokens"
    assert points(panel, "xpos") == ([1.5, 5.5], [rows[0]["perplexity"], rows[1]["perplexity"]])
    assert points(panel, "rope") == ([1.5], [pytest.approx(math.e**2)])


def test_resolution_has_scores_above_and_layers_below():
    axes = draw(RESOLUTION).axes
    short, long, below, below_long = axes
    assert [panel.get_title() for panel in axes[:2]] == ["8 tokens", "16 tokens"]
    assert points(short, "xpos") == ([0, 1], [3.0, 1.0]) and points(short, "rope") == ([0, 1], [2.0, -1.0])
    assert points(below, "xpos") == ([1, 2], [0.25, 0.625]) and points(below_long, "rope") == ([1, 2], [0.25, 0.0])
    assert [line.get_label() for line in long.lines] == ["rope"]
    totals = [row["value"] for row in KINDS["resolution"].rows(RESOLUTION) if row["measure"] == "resolution"]
    assert totals == [0.375, 0.125, 0.125]


def test_closed_form_has_scores_alone():
    curve = {"distance": [0, 9], "score": [32.0, 8.0]}
    record = {"kind": "resolution", "curves": [{"name": "rope", "length": 10, "resolution": 0.5, "curve": curve}]}
    (panel,) = draw(record).axes
    assert points(panel, "rope") == ([0, 9], [32.0, 8.0])
    # Beside models: the panel that has no layers is empty.
    module = KINDS["resolution"]
    figure = module.draw({"closed": module.rows(record), "models": module.rows(RESOLUTION)})
    assert [panel.axison for panel in figure.axes] == [True, True, True, False, True, True]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["rope", "xpos"]


def test_receptive_fields_are_means_over_seeds():
    gradient, distance, bias = draw(RECEPTIVE_FIELD).axes
    assert points(gradient, "sandwich") == ([1, 2, 8], [0.5, 0.75, 1.0])
    assert points(gradient, "rope") == ([1, 2, 8], [0.5, 0.5, 1.0])
    assert points(distance, "sandwich") == ([1, 2], [1.5, 3.0]) and points(distance, "rope") == ([1, 2], [4.0, 4.0])
    # Biases of the first checkpoint of a name; the fit is -log(1 + distance) + 0.5.
    assert points(bias, "head 1") == ([0, 1, 7], [0.0, -1.0, -2.0])
    assert points(bias, "head 2") == ([0, 1, 7], [0.0, -0.5, -1.0])
    fit = points(bias, "a log(1 + distance) + b")
    assert fit == ([0, 1, 7], [pytest.approx(0.5 - math.log(1 + n)) for n in (0, 1, 7)])
    erf = [
        (row["name"], row["value"])
        for row in KINDS["receptive-field"].rows(RECEPTIVE_FIELD)
        if row["quantity"] == "erf"
    ]
    assert erf == [("sandwich", 7.0), ("rope", 7.0)]


def test_biases_by_dimensions():
    matrix, first, by_dim = (panel for panel in draw(CLOSED_BIASES).axes if panel.get_title())
    image = matrix.images[0].get_array()
    # Query 7 at the bottom: key 0 at the left is 7 away, its own key 0; keys of the future are blank.
    assert image[-1, 0] == pytest.approx(-2.0) and image[-1, -1] == pytest.approx(0.0)
    assert image[128, 0] == pytest.approx(-1 - (128 * 7 / 255 - 1) / 6) and image[0].mask[1:].all()
    assert points(first, "128 dimensions") == ([0, 1, 7], [0.0, -1.0, -2.0]) and len(first.lines) == 2
    assert points(by_dim, "256 dimensions") == ([0, 1, 7], [0.0, -2.0, -4.0]) and len(by_dim.lines) == 2


def test_biases_of_one_dimension_are_drawn_once():
    one = {**CLOSED_BIASES, "biases": CLOSED_BIASES["biases"][:1]}
    assert len([panel for panel in draw(one).axes if panel.get_title()]) == 2


def test_the_legend_of_many_systems_is_not_cut_off():
    names = [f"system {number}" for number in range(24)]
    cells = [{**EXTRAPOLATION["summary"][0], "name": name} for name in names]
    figure = draw({**EXTRAPOLATION, "checkpoints": [checkpoint(name) for name in names], "summary": cells})
    figure.savefig(io.BytesIO())
    box = figure.legends[0].get_window_extent()
    assert len(figure.legends[0].get_texts()) == 24
    assert figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1
