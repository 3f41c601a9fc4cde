"""Numbers by clipped distance, against look-ups and sums by autograd."""

import pytest
import torch

from fairseq_posenc.encodings.clipped import Clipped, LookUp, Sums

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
    assert_same(LookUp.apply(by_row, clipped), by_row.gather(-1, rows_of(clipped)), by_row)


@CASES
def test_sums(q_idx, kv_idx, clip, rows):
    clipped, table = Clipped(q_idx, kv_idx, clip, rows), draw(2, len(q_idx), len(kv_idx))
    expected = table.new_zeros(2, len(q_idx), rows).scatter_add(-1, rows_of(clipped), table)
    assert_same(Sums.apply(table, clipped), expected, table)
