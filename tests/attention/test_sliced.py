"""Attention in slices that read one mask, against the weights of all queries and keys at once."""

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from fairseq_posenc.attention import sliced
from fairseq_posenc.attention.kernels import weighted_attention
from fairseq_posenc.attention.sliced import rows_of, sliced_attention
from tests.support.fuzzing import examples


def whole_mask(diagonals, queries, keys):
    """(1, H, Tq, Tk) from one number per head and distance; later keys are hidden."""
    distances = torch.arange(keys - queries, keys).unsqueeze(1) - torch.arange(keys)
    return diagonals[:, distances.clamp(min=0)].masked_fill(distances < 0, float("-inf")).unsqueeze(0)


@examples(40)
@given(
    batch=st.integers(1, 2),
    heads=st.integers(1, 3),
    queries=st.integers(1, 20),
    earlier=st.integers(0, 5),
    rows=st.integers(1, 20),
    at_once=st.integers(1, 9),
    more=st.integers(0, 2),
    learned=st.booleans(),
    seed=st.integers(0, 99),
)
@example(batch=1, heads=2, queries=11, earlier=2, rows=8, at_once=3, more=0, learned=False, seed=0)
@example(batch=1, heads=2, queries=11, earlier=2, rows=8, at_once=3, more=0, learned=True, seed=0)
def test_any_shape(batch, heads, queries, earlier, rows, at_once, more, learned, seed):
    """The results, and the gradients of queries, keys, values and of what is added to the scores."""
    draw = torch.Generator().manual_seed(seed)
    keys, rows = queries + earlier, min(rows, queries)
    sizes = (queries, 4 + more), (keys, 4 + more), (keys, 4)
    qkv = [torch.randn(batch, heads, *size, generator=draw, dtype=torch.float64, requires_grad=True) for size in sizes]
    diagonals = torch.randn(heads, keys, generator=draw, dtype=torch.float64, requires_grad=learned)
    asked = [*qkv, diagonals] if learned else qkv
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sliced, "AT_ONCE", at_once)
        found = sliced_attention(*qkv, whole_mask(diagonals, rows, keys))
        found_grads = torch.autograd.grad(found.sin().sum(), asked)
    expected, _ = weighted_attention(*qkv, whole_mask(diagonals, queries, keys))
    torch.testing.assert_close(found, expected)
    for gradient, other in zip(found_grads, torch.autograd.grad(expected.sin().sum(), asked)):
        torch.testing.assert_close(gradient, other)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("batch", [1, 2])
def test_a_mask_for_all_queries(batch, learned):
    """It may hide any keys, and may be another one for each sentence."""
    draw = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(2, 3, 70, 8, generator=draw, dtype=torch.float64, requires_grad=True) for _ in range(3))
    mask = torch.randn(batch, 3, 70, 70, generator=draw, dtype=torch.float64)
    mask[:, :, :, 40:50] = float("-inf")
    asked = [q, k, v, mask.requires_grad_()] if learned else [q, k, v]
    expected, _ = weighted_attention(q, k, v, mask)
    expected_grads = torch.autograd.grad(expected.sin().sum(), asked)
    found = sliced_attention(q, k, v, mask)
    torch.testing.assert_close(found, expected)
    for gradient, other in zip(torch.autograd.grad(found.sin().sum(), asked), expected_grads):
        torch.testing.assert_close(gradient, other)


@pytest.mark.parametrize("room, rows", [(1000, 256), (256, 256), (255, 128), (64, 64), (1, 64)])
def test_rows(room, rows):
    assert rows_of(room) == rows
