"""Attention resolution, against loops over the equations of Sun et al. (2023)."""

import json
import math

import pytest
import torch

from fairseq_posenc.analysis.by_distance import curves, untrained
from fairseq_posenc.analysis.language_model import load_model, read_text
from fairseq_posenc.analysis.resolution import closed_form, expected_scores, piece_starts, resolution
from fairseq_posenc.cli import main
from tests.support.attention_scores import PATTERNS, naive_scores
from tests.support.language_models import with_models


def slow_resolution(s):
    """Eq 4 over {distance: s}."""
    total = sum(math.exp(value) for value in s.values())
    products = (math.exp(s[i]) * (math.exp(s[i]) - math.exp(s[i + 1])) for i in s if i + 1 in s)
    return sum(products) / total**2


def slow_expectation(loaded, text, length, starts, visible):
    """Eq 13, [layer][head] -> {distance: s}: the mean over texts of the mean over pairs, pair by pair."""
    texts = [naive_scores(loaded, text.inputs[None, start : start + length], visible) for start in starts]
    found = []
    for layer in range(2):
        found.append([{} for _ in range(2)])
        for distance in range(length):
            pairs = [(layer, i, i - distance) for i in range(distance, length) if (layer, i, i - distance) in texts[0]]
            for head in range(2) if pairs else ():
                means = [sum(float(scores[pair][head]) for pair in pairs) / len(pairs) for scores in texts]
                found[layer][head][distance] = sum(means) / len(means)
    return found


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("encoding", ["xpos", "alibi", "shaw", "sinusoidal"])
@torch.no_grad()
def test_command_is_the_slow_way(encoding, pattern, lm_checkpoint, lm_data, tmp_path):
    path, out = lm_checkpoint(encoding), tmp_path / "out.json"
    words = ["--lengths", "10,13", "--texts", "3", "--patterns", pattern, "--json", str(out), "--names", "mine"]
    assert main(["resolution", str(lm_data), "--path", path, *words]) == 0
    record = json.loads(out.read_text())
    text = read_text(lm_data, "test")
    loaded = load_model(path, text)
    loaded.use_pattern(pattern)
    assert [(cell["length"], cell["pattern"], cell["texts"]) for cell in record["cells"]] == [
        (10, pattern, 3),
        (13, pattern, 3),
    ]
    for cell in record["cells"]:
        length = cell["length"]
        starts = [0, (192 - length) // 2, 192 - length]
        s = slow_expectation(loaded, text, length, starts, PATTERNS[pattern])
        heads = [head for layer in s for head in layer]
        mean = {distance: sum(head[distance] for head in heads) / 4 for distance in heads[0]}
        assert cell["curve"]["distance"] == sorted(mean)
        assert cell["curve"]["score"] == pytest.approx([mean[n] for n in sorted(mean)], abs=1e-4)
        assert cell["resolution"] == pytest.approx(slow_resolution(mean), abs=1e-5, rel=1e-3)
        layers = [sum(map(slow_resolution, layer)) / 2 for layer in s]
        assert cell["by_layer"] == pytest.approx(layers, abs=1e-5, rel=1e-3)
        assert cell["mean_of_heads"] == pytest.approx(sum(layers) / 2, abs=1e-5, rel=1e-3)


def test_resolution_of_known_curves():
    assert float(resolution([0.0, -math.inf, -math.inf])) == 0  # one distance: nothing to tell apart
    assert float(resolution([0.0, 0.0, 0.0])) == 0
    falling, rising = resolution([math.log(3), 0.0]), resolution([0.0, math.log(3)])
    assert float(falling) == pytest.approx(3 * (3 - 1) / 16) and float(rising) == pytest.approx(1 * (1 - 3) / 16)
    # Distances that are hidden count neither in the sum nor as a neighbour; very small shares do.
    assert float(resolution([math.log(3), 0.0, -math.inf])) == pytest.approx(float(falling))
    assert float(resolution([0.0, -2000.0, -2000.0])) == 1
    both = resolution([[math.log(3), 0.0], [0.0, math.log(3)]])
    assert both.tolist() == pytest.approx([float(falling), float(rising)])


def test_a_pattern_that_hides_nothing_changes_nothing(lm_checkpoint, lm_data):
    text = read_text(lm_data, "test")
    loaded = load_model(lm_checkpoint("xpos"), text)
    full = expected_scores(loaded, text, 12, 2)
    loaded.use_pattern("blockwise:12")
    torch.testing.assert_close(expected_scores(loaded, text, 12, 2), full, atol=1e-5, rtol=1e-5)
    longer = expected_scores(loaded, text, 30, 2)
    assert longer[..., :12].isfinite().all() and (longer[..., 12:] == -math.inf).all()


@pytest.mark.parametrize("gamma", [None, 0.4])
def test_closed_form_is_eq_10(gamma):
    """Also what the encodings give a query and a key of ones (see by_distance), up to the factor d/2."""
    found = closed_form(64, 41, gamma, 512.0)
    for n in (0, 1, 7, 40):
        terms = []
        for i in range(32):
            zeta = 1 if gamma is None else (i / 32 + gamma) / (1 + gamma)
            terms.append(math.cos(n * 10000 ** (-2 * i / 64)) * zeta ** (n / 512))
        assert float(found[n]) == pytest.approx(sum(terms), abs=1e-9)
    (encoding,) = [e for e, side in untrained(["rope" if gamma is None else "xpos"], 1, 40) if side == "decoder"]
    _, scores = curves(encoding, 40)["score"]
    torch.testing.assert_close(scores[0], found / 32, atol=1e-4, rtol=1e-4)


def test_closed_form_command(tmp_path, capsys):
    out = tmp_path / "figure2.json"
    assert main(["resolution", "--closed-form", "--lengths", "600", "--dim", "32", "--json", str(out)]) == 0
    record = json.loads(out.read_text())
    assert record["kind"] == "resolution" and record["closed_form"] == {"dim": 32, "gamma": 0.4, "scale_base": 512.0}
    rope, xpos = record["curves"]
    assert (rope["name"], xpos["name"]) == ("rope", "xpos") and rope["curve"]["distance"][-1] == 599
    # Figure 2: the oscillation of RoPE is damped at long distances.
    late = [[s for n, s in zip(*curve["curve"].values()) if n >= 400] for curve in (rope, xpos)]
    assert max(late[1]) - min(late[1]) < 0.7 * (max(late[0]) - min(late[0]))
    g = closed_form(32, 600, 0.4, 512.0) / math.sqrt(32)
    assert xpos["resolution"] == pytest.approx(slow_resolution(dict(enumerate(g.tolist()))))
    assert "xpos" in capsys.readouterr().out


def test_pieces_are_spread_over_the_text():
    assert piece_starts(100, 10, 4) == [0, 30, 60, 90] and piece_starts(100, 100, 1) == [0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["DATA", "--path", "alibi", "--lengths", "64", "--texts", "4"], "--texts 4 of length 64 take 256 tokens, but"),
        (["DATA", "--path", "alibi", "--lengths", "1"], "--lengths: 1 is too small for distances; give 2 or more"),
        (["DATA", "--path", "alibi"], "--lengths is missing; give it, or --closed-form"),
        (["DATA", "--lengths", "8"], "--path is missing"),
        (["--path", "alibi", "--lengths", "8"], "DATA is missing"),
        (["DATA", "--path", "learned", "--lengths", "8,17"], "length 17 is too long for"),
        (
            ["DATA", "--path", "alibi", "--lengths", "8", "--patterns", "w"],
            "--attention-pattern must be one of full, window:W",
        ),
        (["DATA", "--path", "alibi", "--lengths", "8", "--dim", "8"], "--dim is an option of --closed-form"),
        (["DATA", "--closed-form"], "--closed-form needs no model and no text; leave out DATA"),
        (["--closed-form", "--texts", "3"], "--texts is an option for models"),
        (["--closed-form", "--dim", "7"], "--dim must be even, but is 7"),
        (["--closed-form", "--gamma", "0"], "--gamma must be between 1e-06 and 1e+06, but is 0"),
        (["--closed-form", "--scale-base", "nan"], "--scale-base must be between 0.01 and 1e+12, but is nan"),
        (["--closed-form", "--lengths", "100000000000"], "--dim 64 at --lengths 100000000000 needs 71,525.6 GiB"),
        (["--closed-form", "--dim", "10000000000"], "--dim 10000000000 at --lengths 4096 needs"),
        (["--closed-form", "--lengths", "9,9"], "9 is given twice"),
    ],
)
def test_mistakes_end_in_one_line(words, message, lm_checkpoint, lm_data, tmp_path, capsys):
    words = with_models(words, lm_data, lm_checkpoint)
    assert main(["resolution", *words, "--json", str(tmp_path / "out.json")]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and not (tmp_path / "out.json").exists()


def test_stock_models_have_no_scores(lm_checkpoint, lm_data, tmp_path, capsys):
    path = lm_checkpoint("sinusoidal", arch="transformer_lm_gpt")
    words = [str(lm_data), "--path", path, "--lengths", "8", "--json", str(tmp_path / "out.json")]
    assert main(["resolution", *words]) == 2
    assert "is a model of stock fairseq" in capsys.readouterr().err
