"""The sinusoidal and learned models are stock fairseq's, weight for weight and output for output."""

import pytest
import torch

from fairseq_posenc.errors import InputError
from fairseq_posenc.models.layers import COPIES
from tests.support.models import PAIRS, batch, build_small, randomize, stock_model

VARIANTS = {
    "post-norm": [],
    "pre-norm": ["--encoder-normalize-before", "--decoder-normalize-before"],
    "shared": ["--share-all-embeddings"],
    "layernorm-embedding": ["--layernorm-embedding"],
}


def outputs(model, left_pad_source=True, left_pad_target=False):
    sample = batch(left_pad_source=left_pad_source, left_pad_target=left_pad_target)
    logits, extra = model(**sample)
    tokens = sample["prev_output_tokens"] != 1
    return logits[tokens], extra["attn"][0][tokens]


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("encoding", PAIRS)
@pytest.mark.parametrize("direction", ["stock to ours", "ours to stock"])
def test_checkpoints_interchange(direction, encoding, variant, left):
    """Equal to 1e-5 in logits; strict loading both ways."""
    ours = randomize(build_small(encoding, *VARIANTS[variant]))
    stock = randomize(stock_model(encoding, *VARIANTS[variant]))
    source, target = (stock, ours) if direction == "stock to ours" else (ours, stock)
    target.load_state_dict(source.state_dict(), strict=True)
    stock.train()  # dropout is 0; keeps the stock encoder off its fused path
    for mine, theirs in zip(outputs(ours, left), outputs(stock, left)):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=0)


@pytest.mark.parametrize("encoding", PAIRS)
def test_same_gradients(encoding):
    ours, stock = build_small(encoding).train(), stock_model(encoding).train()
    ours.load_state_dict(stock.state_dict())
    for model in (ours, stock):
        outputs(model)[0].pow(2).sum().backward()
    theirs = dict(stock.named_parameters())
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter.grad, theirs.pop(name).grad, atol=2e-4, rtol=1e-4, msg=name)
    assert {name.split(".")[-1] for name in theirs} == set(COPIES)


@pytest.mark.parametrize("encoding", PAIRS)
def test_same_start_and_parameter_count(encoding):
    """Parameters are stock's less the copies, drawn from the same distributions."""
    ours, stock = build_small(encoding), stock_model(encoding)
    expected = {n: p for n, p in stock.named_parameters() if n.split(".")[-1] not in COPIES}
    assert {n: p.shape for n, p in ours.named_parameters()} == {n: p.shape for n, p in expected.items()}
    for name, parameter in ours.named_parameters():
        if parameter.numel() > 200:
            assert parameter.std().item() == pytest.approx(expected[name].std().item(), rel=0.25), name


def test_trained_sinusoids_do_not_load_as_another_encoding():
    stock = stock_model("sinusoidal")
    with pytest.raises(InputError, match="embed_positions"):
        build_small("none").load_state_dict(stock.state_dict())
