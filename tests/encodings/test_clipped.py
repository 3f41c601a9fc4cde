"""Numbers by clipped distance, against look-ups and sums by autograd."""

import pytest
import torch

from fairseq_posenc.encodings.base import Stack
from fairseq_posenc.encodings.clipped import Clipped
from fairseq_posenc.encodings.positions import Positions
from fairseq_posenc.encodings.shaw import Shaw

CASES = pytest.mark.parametrize(
    "q_idx, kv_idx, clip, rows",
    [
        pytest.param(range(9), range(9), 3, 7, id="both directions"),
        pytest.param(range(9), range(9), 3, 4, id="causal"),
        pytest.param(range(4, 9), range(2, 9), 3, 4, id="the last queries"),
        pytest.param(range(3), range(3), 5, 11, id="nothing is far"),
        pytest.param(range(30), range(30), 1, 3, id="clip 1"),
        pytest.param(range(30), range(30), 1, 2, id="clip 1, causal"),
    ],
)


def rows_of(clipped):
    """(2, Tq, Tk): the row of each pair, by a loop."""
    top = clipped.rows - 1 - clipped.clip
    rows = [[min(max(k - q, -clipped.clip), top) + clipped.clip for k in clipped.kv_idx] for q in clipped.q_idx]
    return torch.tensor(rows).expand(2, -1, -1)


def draw(*shape):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()


def assert_same(found, expected, x):
    grad = torch.randn_like(expected)
    assert torch.allclose(found, expected)
    assert torch.allclose(*(torch.autograd.grad(y, x, grad)[0] for y in (found, expected)))


@CASES
def test_look_up(q_idx, kv_idx, clip, rows):
    clipped, by_row = Clipped(q_idx, kv_idx, clip, rows), draw(2, len(q_idx), rows)
    assert_same(clipped.look_up(by_row), by_row.gather(-1, rows_of(clipped)), by_row)


@CASES
def test_sums(q_idx, kv_idx, clip, rows):
    clipped, table = Clipped(q_idx, kv_idx, clip, rows), draw(2, len(q_idx), len(kv_idx))
    expected = table.new_zeros(2, len(q_idx), rows).scatter_add(-1, rows_of(clipped), table)
    assert_same(clipped.sums(table), expected, table)


@pytest.mark.parametrize("causal", [True, False])
def test_shaw_as_on_a_gpu(causal, monkeypatch):
    """On a CPU, ``_clipped`` gives none; Positions are looked up."""
    encoding = Shaw(Stack(model_dim=16, heads=2, causal=causal), clip=3).double()
    q, k, v = (draw(2, 2, 12, 8) for _ in range(3))
    hidden = torch.ones(12, 12, dtype=torch.bool).triu(1) & causal

    def attend(idx):
        weights = encoding.scores(q, k, idx, idx).masked_fill(hidden, float("-inf")).softmax(-1)
        out = encoding.mix(weights, v, idx, idx)
        return out, *torch.autograd.grad(out.sin().sum(), [q, k, v, *encoding.parameters()])

    expected = attend(Positions(torch.arange(12).unsqueeze(0), 12))
    monkeypatch.setattr(Shaw, "_first_diagonal", lambda *_: None)
    rows = encoding.vectors.size(0)
    monkeypatch.setattr(Shaw, "_clipped", lambda self, x, q_idx, kv_idx: Clipped(q_idx, kv_idx, self.clip, rows))
    for found, other in zip(attend(range(12)), expected):
        torch.testing.assert_close(found, other)
