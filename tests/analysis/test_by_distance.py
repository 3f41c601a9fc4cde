"""The curves of encodings by distance, against their formulas; checkpoints give back what was trained."""

import math

import pytest
import torch
from fairseq import models, options

from fairseq_posenc.analysis.build import dictionary
from fairseq_posenc.analysis.by_distance import curves, measures_of, trained, untrained
from fairseq_posenc.encodings import PositionEncoding, Stack, encoding_class, encoding_names
from fairseq_posenc.errors import InputError
from tests.support.encodings import CASES

PAIRS = [10000 ** (-2 * i / 64) for i in range(32)]


def encoding_of(name, side, heads=4, longest=20, **given):
    stack = Stack(model_dim=64 * heads, heads=heads, max_positions=longest + 1, causal=side == "decoder")
    return encoding_class(name)(stack, **given).eval()


def curve(encoding, measure, longest=20):
    """(distances as a list, values (H or 1, n))."""
    found = curves(encoding, longest)
    assert list(found) == measures_of(encoding)
    distances, values = found[measure]
    return list(distances), values


@pytest.mark.parametrize(("side", "first"), [("encoder", -20), ("decoder", 0)])
def test_bias_of_alibi(side, first):
    distances, values = curve(encoding_of("alibi", side, heads=4), "bias")
    assert distances == list(range(first, 21))
    # 4 heads: 2^-2, 2^-4, 2^-6, 2^-8.
    expected = [[-(2.0 ** -(2 * head)) * abs(n) for n in distances] for head in (1, 2, 3, 4)]
    assert values.tolist() == expected


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_score_of_rope_and_xpos(side):
    for name, zetas in (("rope", [1.0] * 32), ("xpos", [(2 * i + 0.4 * 64) / (1.4 * 64) for i in range(32)])):
        distances, values = curve(encoding_of(name, side), "score")
        expected = [
            sum(zeta ** (abs(n) / 512) * math.cos(n * theta) for zeta, theta in zip(zetas, PAIRS)) / 32
            for n in distances
        ]
        assert values.shape == (1, len(distances))  # all heads are equal
        torch.testing.assert_close(values[0], torch.tensor(expected, dtype=torch.float64), rtol=1e-4, atol=1e-5)


def test_shaw_in_keys_and_values():
    encoding = encoding_of("shaw", "encoder", clip=3)
    distances, scores = curve(encoding, "score")
    keys = encoding.keys.detach().double().sum(dim=1)
    # Row clip of the table is distance 0; the past, positive here, comes first.
    expected = [float((64 + keys[3 - max(-3, min(3, n))]) / (64 + keys[3])) for n in distances]
    torch.testing.assert_close(scores[0], torch.tensor(expected, dtype=torch.float64), rtol=1e-5, atol=1e-5)
    _, mixed = curve(encoding, "mixed value")
    norms = encoding.vectors.detach().norm(dim=1)
    wanted = torch.stack([norms[3 - max(-3, min(3, n))] for n in distances]).double()
    # The same vector is added to all values: the curve is its norm times a mean of 1 / |v|.
    torch.testing.assert_close(mixed[0] / mixed[0, 0], wanted / wanted[0], rtol=1e-4, atol=1e-5)
    assert 1 / 9 < float(mixed[0, 0] / wanted[0]) < 1 / 7  # of 64 dimensions


def test_cope_counts_queries_of_the_size_that_attention_gives_them():
    """With equal queries and keys, every gate lets sigmoid(sqrt(D)) of a position through."""
    encoding = encoding_class("cope")(Stack(model_dim=8, heads=2, causal=True), positions=4).eval()
    encoding.test_options = {"positions": 4}
    torch.nn.init.normal_(encoding.weight, generator=torch.Generator().manual_seed(1))
    distances, scores = curve(encoding, "score", longest=6)
    ones, score = torch.ones(8, 2, 4, dtype=torch.float64), CASES["cope"].score_between
    found = [score(encoding, ones[0] / 2, ones[: n + 1], ahead=False)[0] for n in distances]
    torch.testing.assert_close(scores[0], torch.stack(found) / found[0], rtol=1e-5, atol=1e-5)


def test_embedding_of_sinusoids():
    distances, values = curve(encoding_of("sinusoidal", "encoder", heads=2), "embedding")
    assert distances == list(range(21)) and values.shape == (1, 21)
    x = torch.randn(64, 128, generator=torch.Generator().manual_seed(0))
    frequencies = [10000 ** (-i / 63) for i in range(64)]
    table = torch.tensor([[f(n * w) for f in (math.sin, math.cos) for w in frequencies] for n in distances])
    for n in distances:
        expected = torch.cosine_similarity(x + table[n], x + table[0], dim=1).mean() - 1
        assert float(values[0, n]) == pytest.approx(float(expected), abs=1e-5)
    assert values[0, 20] < values[0, 5] < values[0, 0] == pytest.approx(0, abs=1e-6)


def test_values_of_posnet_have_a_line_per_head_where_heads_differ():
    for heads, lines in (("shared", 1), ("separate", 4)):
        stack = Stack(model_dim=256, heads=4, causal=True)
        encoding = encoding_class("posnet-attn")(stack, heads=heads, initialization="slice").eval()
        distances, values = curve(encoding, "value")
        assert distances == list(range(21)) and values.shape == (lines, 21)
        assert (values[:, 1:] < -0.01).all() and (values[:, 0].abs() < 1e-6).all()


def test_without_positions_the_score_is_flat():
    distances, values = curve(encoding_of("none", "encoder"), "score")
    assert distances == list(range(-20, 21)) and values.tolist() == [[1.0] * 41]


def test_an_encoding_of_your_own_needs_no_code_here():
    class Steps(PositionEncoding):
        name = "steps"

        def bias(self, q_columns, k_columns, device):
            rows = [[float(q - k >= 2) for k in k_columns] for q in q_columns]
            return torch.tensor(rows).expand(self.stack.heads, -1, -1)

    distances, values = curve(Steps(Stack(model_dim=8, heads=2, causal=True)), "bias", longest=4)
    assert (distances, values.tolist()) == ([0, 1, 2, 3, 4], [[0.0, 0.0, 1.0, 1.0, 1.0]])


def test_every_encoding_is_there_for_both_sides():
    found = untrained(encoding_names(), heads=2, longest=4)
    expected = [(name, side) for name in encoding_names() for side in ("encoder", "decoder")]
    assert [(encoding.name, side) for encoding, side in found] == expected
    for encoding, _ in found:
        for distances, values in curves(encoding, 4).values():
            assert values.shape[1] == len(distances) and values.shape[0] in (1, 2) and values.isfinite().all()


def test_the_limit_of_an_encoding_is_named():
    with pytest.raises(InputError, match="--distance 20 needs 21 positions, but posnet-embed has 20 .*smaller"):
        curves(encoding_of("posnet-embed", "encoder", max_positions=20), 20)


@pytest.fixture
def checkpoint(tmp_path):
    """Return a function: architecture and flags -> (checkpoint file as fairseq writes it, model)."""

    def write(arch, *flags):
        parser = options.get_training_parser()
        args = options.parse_args_and_arch(parser, ["no-data", "--arch", arch, *flags])
        words = dictionary(10)
        task = type("Task", (), {"source_dictionary": words, "target_dictionary": words})
        model = models.build_model(args, task)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
        path = tmp_path / "checkpoint.pt"
        torch.save({"args": None, "cfg": {"model": args}, "model": model.state_dict()}, path)
        return path, model

    return write


SMALL = [f"--{side}-{option}" for side in ("encoder", "decoder") for option in ("layers=3", "attention-heads=2")]


def test_checkpoints_hold_the_encodings_of_every_layer(checkpoint):
    path, model = checkpoint("transformer_shaw_iwslt_de_en", *SMALL, "--decoder-position-encoding", "t5")
    assert not torch.equal(model.encoder.embed_positions.keys, model.encoder.later_positions[1].keys)
    for layer, of_encoder in ((1, model.encoder.embed_positions), (3, model.encoder.later_positions[1])):
        (encoder, first), (decoder, second) = trained(path, layer)
        assert (encoder.name, first, decoder.name, second) == ("shaw", "encoder", "t5", "decoder")
        assert torch.equal(encoder.keys, of_encoder.keys) and encoder.stack.heads == 2
        for mine, theirs in zip(decoder.parameters(), model.decoder.embed_positions.parameters()):
            assert torch.equal(mine, theirs)
    with pytest.raises(InputError, match="--layer 4: the encoder of .* has layers 1 to 3"):
        trained(path, 4)


def test_checkpoints_older_than_an_option_have_its_default(checkpoint):
    path, model = checkpoint("transformer_t5_iwslt_de_en", *SMALL)
    state = torch.load(path, weights_only=False)
    del state["cfg"]["model"].t5_scale
    torch.save(state, path)
    for encoding, side in trained(path):
        assert encoding.factor == 1 and torch.equal(encoding.weight, getattr(model, side).embed_positions.weight)


def test_an_encoding_shared_by_both_sides_is_found(checkpoint):
    path, model = checkpoint("transformer_posnet_embed_iwslt_de_en", *SMALL, "--posnet-max-positions=8")
    for encoding, _ in trained(path):
        assert torch.equal(encoding.kernels.weight, model.encoder.embed_positions.kernels.weight)


def test_layers_without_an_encoding_are_refused(checkpoint):
    path, _ = checkpoint("transformer_adaptive_t5_iwslt_de_en", *SMALL, "--adaptive-t5-layers=first")
    assert len(trained(path)) == 2
    with pytest.raises(InputError, match="--layer 2: the encoder of .* in layer 1 only"):
        trained(path, 2)


def test_stock_checkpoints_are_refused(checkpoint):
    path, _ = checkpoint("transformer_iwslt_de_en", *SMALL)
    with pytest.raises(InputError, match="names no position encoding"):
        trained(path)


def test_parameters_of_another_shape_are_refused_in_one_line(checkpoint):
    """PyTorch tells them in several."""
    path, _ = checkpoint("transformer_t5_iwslt_de_en", *SMALL)
    state = torch.load(path, weights_only=False)
    state["model"]["encoder.embed_positions.weight"] = torch.zeros(3, 3)
    torch.save(state, path)
    with pytest.raises(InputError, match=r"cannot build .* \(RuntimeError: Error.* loading state_dict for T5:\); use"):
        trained(path)


def test_score_of_cope_counts_all_keys_in_between():
    """Gates of ones are sigmoid(64 / 8) = 1, nearly: a key at distance n has e[n + 1], up to the last."""
    encoding = encoding_of("cope", "decoder", heads=1, positions=6)
    torch.nn.init.normal_(encoding.weight)
    distances, values = curve(encoding, "score")
    scores = [8 + float(encoding.weight[min(n + 1, 5)].sum()) for n in distances]
    expected = torch.tensor([score / scores[0] for score in scores], dtype=torch.float64)
    torch.testing.assert_close(values[0], expected, rtol=0.02, atol=0.02)
