"""What encodings have in common: exact numbers, dropout of their own, and values at the ends of their ranges."""

import pytest
import torch

from fairseq_posenc.encodings import Stack, encoding_class
from fairseq_posenc.encodings.dropout import Dropout
from fairseq_posenc.encodings.sinusoidal import sinusoids

STACK = Stack(model_dim=16, heads=2)


def test_exact_numbers_move_to_the_device_that_asks():
    encoding = encoding_class("none")(STACK)
    encoding.keep_exact("halves", torch.tensor([0.5], dtype=torch.float64))
    assert encoding.half().exact("halves", torch.device("cpu")).dtype == torch.float64
    assert encoding.exact("halves", torch.device("meta")).device.type == "meta"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("adaptive-t5", {"hidden": 1, "second_hidden": 1}),
        ("cope", {"positions": 2}),
        ("dynamic-bias", {"dim": 1}),
        ("fire", {"hidden": 1}),
        ("posnet-embed", {"max_positions": 1, "kernel_dim": 1}),
        ("posnet-attn", {"max_positions": 1}),
        ("sandwich", {"dim": 2}),
        ("shaw", {"clip": 1}),
        ("t5", {"buckets": 2}),
    ],
)
def test_the_smallest_values_are_accepted(name, options):
    encoding_class(name)(Stack(model_dim=16, heads=2, causal=True), **options)


def test_the_smallest_models_are_accepted():
    encoding_class("sinusoidal")(Stack(model_dim=4, heads=1))
    encoding_class("alibi")(Stack(model_dim=4, heads=2), encoder="split")


@pytest.mark.parametrize("first_row", [0, 2])
def test_sinusoids_while_pytorch_compiles_reach_the_last_position(first_row, monkeypatch):
    """The table then has one size, that of the longest text."""
    monkeypatch.setattr("fairseq_posenc.encodings.sinusoidal.is_eager", lambda: False)
    encoding = encoding_class("sinusoidal")(Stack(model_dim=16, heads=2, max_positions=6, first_row=first_row))
    found = encoding.embed(torch.zeros(1, 6, 16), torch.arange(6).unsqueeze(0))
    torch.testing.assert_close(found[0], sinusoids(torch.arange(6) + first_row, 16).float())


def test_dropout_with_a_seed_drops_the_same_and_keeps_the_mean():
    dropout, x = Dropout(0.75, "Example"), torch.full((64, 64), 3.0)
    dropout.draw_seed()
    first = dropout(x)
    assert set(first.unique().tolist()) == {0, 12}
    assert (first > 0).float().mean().item() == pytest.approx(0.25, abs=0.03)
    assert torch.equal(dropout(x), first)
    dropout.draw_seed()
    assert not torch.equal(dropout(x), first)


@pytest.mark.parametrize(("p", "training"), [(0, True), (0.5, False)])
def test_dropout_that_is_not_active_draws_no_numbers(p, training):
    dropout, before = Dropout(p, "Example").train(training), torch.get_rng_state()
    dropout.draw_seed()
    assert torch.equal(dropout(torch.ones(4)), torch.ones(4))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["kerple-log", "kerple-power"])
@pytest.mark.parametrize("numbers", [torch.zeros, torch.ones])
def test_kerple_starts_with_finite_parameters(name, numbers, monkeypatch):
    """Also where a random number is at an end of its range."""
    monkeypatch.setattr(torch, "rand", numbers)
    encoding = encoding_class(name)(STACK)
    assert all(parameter.isfinite().all() for parameter in encoding.parameters())
    assert (encoding.r1 > 0).all() and (encoding.r2 > 0).all()


@pytest.mark.parametrize("first_row", [0, 2])
def test_learned_has_gradients_for_all_positions_and_none_for_padding(first_row):
    """As fairseq's table, where positions begin behind the row of padding."""
    encoding = encoding_class("learned")(Stack(model_dim=16, heads=2, max_positions=4, first_row=first_row))
    positions = torch.tensor([[-1, 0, 1, 2, 3]]) if first_row else torch.tensor([[0, 1, 2, 3]])
    encoding.embed(torch.zeros(*positions.shape, 16), positions).sum().backward()
    expected = [0] * first_row + [1] * 4
    assert encoding.weight.grad[:, 0].tolist() == expected
    assert bool(encoding.weight[first_row - 1].any()) == (first_row == 0)
