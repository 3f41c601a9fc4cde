"""Attention in slices, against the weights of all queries and keys at once."""

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from fairseq_posenc.attention import sliced
from fairseq_posenc.attention.kernels import weighted_attention
from fairseq_posenc.attention.sliced import attention_by_distance, attention_with_mask
from tests.support.fuzzing import examples


def whole_mask(diagonals, queries, keys):
    """(1, H, Tq, Tk) from one number per head and distance; later keys are hidden."""
    distances = torch.arange(keys - queries, keys).unsqueeze(1) - torch.arange(keys)
    return diagonals[:, distances.clamp(min=0)].masked_fill(distances < 0, -math.inf).unsqueeze(0)


@examples(40)
@given(
    batch=st.integers(1, 2),
    heads=st.integers(1, 3),
    queries=st.integers(1, 20),
    earlier=st.integers(0, 5),
    rows=st.integers(1, 20),
    at_once=st.integers(1, 9),
    more=st.integers(0, 2),
    one_head=st.booleans(),
    learned=st.booleans(),
    seed=st.integers(0, 99),
)
@example(batch=1, heads=2, queries=11, earlier=2, rows=8, at_once=3, more=0, one_head=False, learned=False, seed=0)
@example(batch=1, heads=2, queries=11, earlier=2, rows=8, at_once=3, more=0, one_head=False, learned=True, seed=0)
@example(batch=2, heads=3, queries=11, earlier=2, rows=4, at_once=9, more=0, one_head=True, learned=True, seed=0)
def test_by_distance(batch, heads, queries, earlier, rows, at_once, more, one_head, learned, seed):
    """The results, and the gradients of queries, keys, values and of what is added to the scores."""
    draw = torch.Generator().manual_seed(seed)
    keys = queries + earlier
    sizes = (queries, 4 + more), (keys, 4 + more), (keys, 4)
    qkv = [torch.randn(batch, heads, *size, generator=draw, dtype=torch.float64, requires_grad=True) for size in sizes]
    own = 1 if one_head else heads
    diagonals = torch.randn(own, keys, generator=draw, dtype=torch.float64, requires_grad=learned)
    asked = [*qkv, diagonals] if learned else qkv
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sliced, "ROWS", rows)
        patch.setattr(sliced, "AT_ONCE", at_once)
        found = attention_by_distance(*qkv, diagonals.flip(1)[None, :, None])
        found_grads = torch.autograd.grad(found.sin().sum(), asked)
    expected, _ = weighted_attention(*qkv, whole_mask(diagonals, queries, keys))
    torch.testing.assert_close(found, expected)
    for gradient, other in zip(found_grads, torch.autograd.grad(expected.sin().sum(), asked)):
        torch.testing.assert_close(gradient, other)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("batch, queries", [(1, 70), (2, 70), (2, 51)])
def test_causal_mask(batch, queries, learned, monkeypatch):
    """The keys after each query, which the mask hides, are left out where a slice cannot see them."""
    monkeypatch.setattr(sliced, "ROWS", 32)
    monkeypatch.setattr(sliced, "AT_ONCE", 16)
    draw = torch.Generator().manual_seed(1)
    sizes = (2, 3, queries, 8), (2, 3, 70, 8), (2, 3, 70, 8)
    q, k, v = (torch.randn(size, generator=draw, dtype=torch.float64, requires_grad=True) for size in sizes)
    mask = torch.randn(batch, 3, queries, 70, generator=draw, dtype=torch.float64)
    mask = mask.masked_fill(torch.arange(70) > torch.arange(70 - queries, 70).unsqueeze(1), -math.inf)
    asked = [q, k, v, mask.requires_grad_()] if learned else [q, k, v]
    found = attention_with_mask(q, k, v, mask, causal=True)
    found_grads = torch.autograd.grad(found.sin().sum(), asked)
    expected, _ = weighted_attention(q, k, v, mask)
    torch.testing.assert_close(found, expected)
    for gradient, other in zip(found_grads, torch.autograd.grad(expected.sin().sum(), asked)):
        torch.testing.assert_close(gradient, other)
    later = torch.full((queries, 70), math.nan).triu(70 - queries + 32)  # where no slice of 32 queries sees a key
    torch.testing.assert_close(attention_with_mask(q, k, v, mask + later, causal=True), expected)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("batch", [1, 2])
def test_with_a_mask(batch, learned):
    """It may hide any keys, and may be another one for each sentence."""
    draw = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(2, 3, 70, 8, generator=draw, dtype=torch.float64, requires_grad=True) for _ in range(3))
    mask = torch.randn(batch, 3, 70, 70, generator=draw, dtype=torch.float64)
    mask[:, :, :, 40:50] = -math.inf
    asked = [q, k, v, mask.requires_grad_()] if learned else [q, k, v]
    expected, _ = weighted_attention(q, k, v, mask)
    expected_grads = torch.autograd.grad(expected.sin().sum(), asked)
    found = attention_with_mask(q, k, v, mask)
    torch.testing.assert_close(found, expected)
    for gradient, other in zip(torch.autograd.grad(found.sin().sum(), asked), expected_grads):
        torch.testing.assert_close(gradient, other)
