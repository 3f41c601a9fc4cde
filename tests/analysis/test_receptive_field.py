"""Receptive fields and attention distances, against differences of outputs and loops; biases and their fits."""

import json
import math

import numpy as np
import pytest
import torch

from fairseq_posenc.analysis.bias_curves import log_fit
from fairseq_posenc.analysis.extrapolation_protocols import LastToken
from fairseq_posenc.analysis.language_model import load_model, read_text
from fairseq_posenc.analysis.receptive_field import (
    ReceptiveField,
    attention_distances,
    empirical_field,
    gradient_shares,
    theoretical_field,
)
from fairseq_posenc.attention.patterns import attention_pattern
from fairseq_posenc.cli import main
from tests.support.attention_scores import PATTERNS, naive_scores
from tests.support.language_models import with_models

ADAPTIVE = [
    *("--adaptive-softmax-cutoff", "6,10", "--adaptive-softmax-factor", 2, "--criterion", "adaptive_loss"),
    *("--adaptive-input", "--adaptive-input-cutoff", "6,10", "--adaptive-input-factor", 2),
]


def slow_shares(loaded, inputs, target, step=1e-5):
    """Shares by the change of the log-probability when single numbers of an embedding change, in float64."""
    model, change = loaded.model, None
    hook = model.decoder.embed_tokens.register_forward_hook(lambda table, args, out: out + change)

    def log_prob():
        output, softmax = model(inputs[None])[0], model.decoder.adaptive_softmax
        log_probs = output.log_softmax(dim=2) if softmax is None else softmax.get_log_prob(output, None)
        return float(log_probs[0, -1, target])

    width = model.decoder.embed_dim
    gradient = np.zeros((len(inputs), width))
    with torch.no_grad():
        for place in range(len(inputs)):
            for dimension in range(width):
                values = []
                for sign in (1, -1):
                    change = torch.zeros(1, len(inputs), width, dtype=torch.float64)
                    change[0, place, dimension] = sign * step
                    values.append(log_prob())
                gradient[place, dimension] = (values[0] - values[1]) / (2 * step)
    hook.remove()
    norms = np.sqrt((gradient**2).sum(axis=1))
    return norms / norms.sum()


@pytest.mark.parametrize(
    ("encoding", "flags", "pattern"),
    [("xpos", [], "full"), ("posnet-embed", [], "window:3"), ("alibi", ADAPTIVE, "blockwise:4")],
)
def test_gradients_are_differences(encoding, flags, pattern, lm_checkpoint, lm_data):
    text = read_text(lm_data, "test")
    # Not fairseq's gelu, which computes in fp32 at most.
    loaded = load_model(lm_checkpoint(encoding, *flags, "--activation-fn", "relu"), text)
    loaded.use_pattern(pattern)
    loaded.model.double()
    inputs, targets = text.inputs[:14].view(2, 7), text.tokens[[6, 13]]
    shares = gradient_shares(loaded, inputs, targets)
    assert shares.shape == (2, 7) and shares.sum(dim=1).tolist() == pytest.approx([1, 1])
    for row in range(2):
        slow = slow_shares(loaded, inputs[row], int(targets[row]))
        np.testing.assert_allclose(shares[row], slow, atol=1e-6)


def test_empirical_field():
    """In the order of the text, so that the last number belongs to the most recent token."""
    shares = torch.tensor([[0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 0.0, 1.0], [0.002, 0.006, 0.492, 0.5]]).double()
    assert empirical_field(shares).tolist() == [4, 1, 2]
    for row in torch.rand(20, 30, generator=torch.Generator().manual_seed(1)).double():
        total, count = 0.0, 0
        for share in reversed((row / row.sum()).tolist()):
            total, count = total + share, count + 1
            if total > 0.99:
                break
        assert int(empirical_field(row / row.sum())) == count


@pytest.mark.parametrize("encoding", ["xpos", "t5", "none"])
def test_no_token_beyond_the_window_counts(encoding, lm_checkpoint, lm_data, tmp_path):
    """ERF <= w x layers; the gradient is exactly 0 there, and not within reach."""
    text, out = read_text(lm_data, "test"), tmp_path / "out.json"
    path = lm_checkpoint(encoding)
    words = ["--patterns", "window:1,window:4,window:9,blockwise:8", "--lengths", "40", "--segments", "7"]
    assert main(["receptive-field", str(lm_data), "--path", path, *words, "--json", str(out)]) == 0
    cells = json.loads(out.read_text())["cells"]
    assert [cell["theoretical"] for cell in cells] == [2, 8, 18, 12]
    assert all(1 <= cell["erf"] <= cell["theoretical"] for cell in cells) and cells[2]["erf"] > 9
    loaded = load_model(path, text)
    inputs, targets = text.inputs[:78].view(2, 39), text.tokens[[38, 77]]
    for pattern, reach in (("window:1", 1), ("window:4", 7), ("window:9", 17), ("blockwise:8", 11)):
        loaded.use_pattern(pattern)
        shares = gradient_shares(loaded, inputs, targets)
        assert (shares[:, : 39 - reach] == 0).all() and (shares[:, 39 - reach :] > 0).all()


def test_a_text_is_as_long_as_what_predicts_its_last_token():
    assert ReceptiveField(segments=1, seed=1, max_tokens=8).inputs(17) == 16


def test_theoretical_field():
    assert theoretical_field(attention_pattern("window:40"), 12) == 480
    assert theoretical_field(attention_pattern("blockwise:512"), 12) == 13 * 256
    assert theoretical_field(attention_pattern("sinks:4,window:40"), 12) == 484
    assert theoretical_field(attention_pattern("full"), 12) is None


@pytest.mark.parametrize("pattern", PATTERNS)
@torch.no_grad()
def test_attention_distance_is_a_loop(pattern, lm_checkpoint, lm_data):
    text = read_text(lm_data, "test")
    loaded = load_model(lm_checkpoint("kerple-log"), text)
    loaded.use_pattern(pattern)
    inputs = text.inputs[:22].view(2, 11)
    expected = torch.zeros(2, 2, dtype=torch.float64)
    for row in inputs:
        scores = naive_scores(loaded, row[None], PATTERNS[pattern])
        for layer in range(2):
            for i in range(11):
                keys = [j for j in range(i + 1) if (layer, i, j) in scores]
                weights = torch.softmax(torch.stack([scores[layer, i, j] for j in keys]), dim=0)
                expected[layer] += sum(weights[place] * (i - j) for place, j in enumerate(keys)) / 22
    torch.testing.assert_close(attention_distances(loaded, inputs), expected, atol=1e-4, rtol=1e-4)


def test_command(lm_checkpoint, lm_data, tmp_path, capsys):
    """The segments of protocol last-token, in batches; the mean over them first, then the field."""
    out, paths = tmp_path / "out.json", [lm_checkpoint("alibi"), lm_checkpoint("rope")]
    words = ["--names", "alibi", "rope", "--lengths", "12,30", "--segments", "5", "--seed", "4", "--max-tokens", "70"]
    assert main(["receptive-field", str(lm_data), "--path", *paths, *words, "--json", str(out)]) == 0
    record = json.loads(out.read_text())
    assert record["kind"] == "receptive-field" and len(record["cells"]) == 4
    text = read_text(lm_data, "test")
    loaded = load_model(paths[1], text)
    cell = record["cells"][3]
    assert (cell["name"], cell["length"], cell["segments"], cell["theoretical"]) == ("rope", 30, 5, None)
    windows = LastToken(5, seed=4).windows(192, 30, 30, 0)
    inputs = torch.stack([text.inputs[start:stop] for start, stop, _ in windows.tolist()])
    targets = torch.stack([text.tokens[stop - 1] for _, stop, _ in windows.tolist()])
    shares = gradient_shares(loaded, inputs, targets)
    recent = shares.mean(dim=0).flip(0).cumsum(0)
    assert cell["erf"] == int((recent > 0.99).nonzero()[0]) + 1
    fields = [int((row.flip(0).cumsum(0) > 0.99).nonzero()[0]) + 1 for row in shares]
    assert cell["erf_of_segments"] == {
        "mean": pytest.approx(np.mean(fields)),
        "deviation": pytest.approx(np.std(fields)),
    }
    assert cell["curve"]["tokens"] == list(range(1, 30))
    assert cell["curve"]["share"] == pytest.approx(recent.tolist(), abs=1e-6)
    distances = attention_distances(loaded, inputs)
    np.testing.assert_allclose(cell["attention_distance"]["by_head"], distances, atol=1e-6)
    assert cell["attention_distance"]["by_layer"] == pytest.approx(distances.mean(dim=1).tolist(), abs=1e-6)
    # Biases: of ALiBi alone; a row per head, each for both layers. Two heads have slopes 2^-4 and 2^-8.
    assert [(curve["name"], curve["layers"], curve["head"]) for curve in record["biases"]] == [
        ("alibi", [1, 2], 1),
        ("alibi", [1, 2], 2),
    ]
    curve = record["biases"][1]
    assert curve["bias"] == [-(2.0**-8) * distance for distance in curve["distance"]] and curve["distance"][-1] == 49
    assert "rope" in capsys.readouterr().out


def test_log_fit_is_least_squares():
    bias = torch.randn(80, generator=torch.Generator().manual_seed(2))
    a, b = np.polyfit(np.log1p(np.arange(80)), bias.numpy(), 1)
    assert log_fit(bias) == (pytest.approx(a, abs=1e-6), pytest.approx(b, abs=1e-6))


def test_fits_of_sandwich_are_those_of_the_paper(tmp_path):
    """Figure 9: -0.825 log(1 + n) - 0.8 through all points; its footnote: the 50 most recent ones."""
    out = tmp_path / "figure9.json"
    assert main(["receptive-field", "--closed-form", "--dims", "128,64", "--json", str(out)]) == 0
    record = json.loads(out.read_text())
    assert [curve["dim"] for curve in record["biases"]] == [128, 64] and record["length"] == 8192
    curve = record["biases"][0]
    assert curve["fits"]["all"] == {"a": pytest.approx(-0.825, abs=0.01), "b": pytest.approx(-0.8, abs=0.01)}
    assert curve["fits"]["recent"] == {"a": pytest.approx(-1.02, abs=0.01), "b": pytest.approx(-0.02, abs=0.01)}
    for distance, bias in list(zip(curve["distance"], curve["bias"]))[::40]:
        terms = [math.cos(distance / 10000 ** (2 * i / 128)) for i in range(64)]
        assert bias == pytest.approx((sum(terms) - 64) / 8, abs=1e-3)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["DATA", "--path", "alibi", "--lengths", "64"], None),
        (
            ["DATA", "--path", "alibi", "--lengths", "64", "--segments", "150"],
            "only 129 of the text's 192 tokens have",
        ),
        (["DATA", "--path", "alibi", "--lengths", "1"], "--lengths: 1 is too small for a token to predict and one"),
        (["DATA", "--path", "alibi", "--lengths", "8", "--seed", "-1"], "--seed must be at least 0, but is -1"),
        (["DATA", "--path", "alibi", "--lengths", "8", "--segments", "0"], "--segments must be at least 1, but is 0"),
        (["DATA", "--path", "learned", "--lengths", "18"], "length 18 is too long for"),
        (["DATA", "--path", "alibi", "--lengths", "8", "--dims", "8"], "--dims is an option of --closed-form"),
        (["--closed-form", "--path", "alibi"], "--closed-form needs no model and no text; leave out --path"),
        (["--closed-form", "--segments", "3"], "--segments is an option for models"),
        (["--closed-form", "--lengths", "100000000000"], "--dims 256 at --lengths 100000000000 needs"),
        (["--closed-form", "--lengths", "30"], "--lengths: 30 is too small for the fit to the nearest distances"),
        (["--closed-form", "--lengths", "99,100"], "--closed-form takes one length, but there are 2"),
        (["--closed-form", "--dims", "64,7"], "--sandwich-dim must be even and at least 2, but is 7"),
    ],
)
def test_mistakes_end_in_one_line(words, message, lm_checkpoint, lm_data, tmp_path, capsys):
    words = with_models(words, lm_data, lm_checkpoint)
    status = main(["receptive-field", *words, "--json", str(tmp_path / "out.json")])
    error = capsys.readouterr().err
    if message is None:  # 100 segments, the default, are not too many
        assert status == 0
        return
    assert status == 2 and message in error and error.count("\n") == 1 and not (tmp_path / "out.json").exists()
