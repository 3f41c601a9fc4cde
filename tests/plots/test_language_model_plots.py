"""Figures of the commands that examine language models: where their lines go."""

import copy
import math

import pytest

from fairseq_posenc.plots.results import KINDS
from tests.plots.language_models import BY_POSITION, EXTRAPOLATION


def draw(record, label="result"):
    module = KINDS[record["kind"]]
    return module.draw({label: module.rows(record)})


def points(panel, label):
    """The line of that name: (x, y)."""
    containers = {container.get_label(): container.lines[0] for container in panel.containers}
    line = containers.get(label) or next(line for line in panel.lines if line.get_label() == label)
    return line.get_xdata().tolist(), line.get_ydata().tolist()


def test_perplexity_by_length_has_a_panel_a_pattern():
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
