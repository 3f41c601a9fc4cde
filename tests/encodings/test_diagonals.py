"""Shaw's vectors on diagonals, against the look-up for every query and key."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairseq_posenc.attention.self_attention import CAUSAL, SelfAttention
from fairseq_posenc.encodings import Stack, encoding_class
from fairseq_posenc.encodings.diagonals import add_to_diagonals_, diagonals
from fairseq_posenc.encodings.positions import Positions
from fairseq_posenc.encodings.shaw import DIAGONALS
from tests.support.fuzzing import examples

HEADS, HEAD_DIM = 2, 4


def shaw(clip):
    encoding = encoding_class("shaw")(Stack(HEADS * HEAD_DIM, HEADS, causal=True), clip=clip).double()
    with torch.no_grad():
        for vectors in encoding.parameters():
            vectors.normal_()
    return encoding


@examples(40)
@given(
    rows=st.integers(1, 9),
    columns=st.integers(1, 9),
    first=st.integers(-12, 12),
    count=st.integers(0, 5),
)
def test_diagonals_against_a_loop(rows, columns, first, count):
    draw = torch.Generator().manual_seed(rows + 10 * columns)
    table, band = (torch.randn(2, rows, size, generator=draw, dtype=torch.float64) for size in (columns, count))
    expected, expected_band = table.clone(), torch.zeros_like(band)
    for i in range(rows):
        for n in range(count):
            if 0 <= i + first + n < columns:
                expected[:, i, i + first + n] += band[:, i, n]
                expected_band[:, i, n] = table[:, i, i + first + n]
    assert torch.equal(diagonals(table, first, count), expected_band)
    assert torch.equal(add_to_diagonals_(table, band, first), expected)


@examples(30)
@given(
    clip=st.integers(1, 4),
    queries=st.integers(DIAGONALS, 40),
    earlier=st.integers(0, 20),
    dropped=st.integers(0, 10),
    seed=st.integers(0, 99),
)
def test_the_numbers_and_gradients_of_the_look_up(clip, queries, earlier, dropped, seed):
    """Of causal attention to ranges, which diagonals compute, and to the same Positions."""
    torch.manual_seed(seed)
    encoding, start = shaw(clip), dropped + max(earlier, DIAGONALS * clip)
    q_idx, kv_idx = range(start, start + queries), range(dropped, start + queries)
    q, k, v = (
        torch.randn(2, HEADS, len(idx), HEAD_DIM, dtype=torch.float64, requires_grad=True)
        for idx in (q_idx, kv_idx, kv_idx)
    )
    hidden = torch.tensor(kv_idx) > torch.tensor(q_idx).unsqueeze(1)

    def attend(q_idx, kv_idx):
        scores = encoding.scores(q, k, q_idx, kv_idx).masked_fill(hidden, float("-inf"))
        out = encoding.mix(scores.softmax(-1), v, q_idx, kv_idx)
        return out, torch.autograd.grad(out.sin().sum(), [q, k, v, *encoding.parameters()])

    found, gradients = attend(q_idx, kv_idx)
    assert "MixDiagonals" in str(found.grad_fn)
    positions = (Positions(torch.tensor(idx).unsqueeze(0), idx.stop) for idx in (q_idx, kv_idx))
    expected, expected_gradients = attend(*positions)
    torch.testing.assert_close(found, expected)
    for gradient, other in zip(gradients, expected_gradients):
        torch.testing.assert_close(gradient, other)


@pytest.mark.parametrize("length", [5, 40])
def test_later_keys_that_a_causal_stack_sees(length):
    """As with --full-context-alignment: they count as the query's own position, in texts of all lengths."""
    torch.manual_seed(1)
    module = SelfAttention(HEADS * HEAD_DIM, HEADS).double().eval()
    encoding = shaw(clip=2)
    module.attach(encoding)
    x = torch.randn(length, 1, HEADS * HEAD_DIM, dtype=torch.float64)
    with torch.no_grad():
        found, _ = module(x, x, x, need_weights=False)
        q, k, v = (p(x).view(length, HEADS, HEAD_DIM) for p in (module.q_proj, module.k_proj, module.v_proj))
        rows = torch.tensor([[max(min(j - i, 0), -2) + 2 for j in range(length)] for i in range(length)])
        scores = torch.einsum("ihd,ijhd->hij", q / HEAD_DIM**0.5, k + encoding.keys[rows].unsqueeze(2))
        out = torch.einsum("hij,ijhd->ihd", scores.softmax(-1), v + encoding.vectors[rows].unsqueeze(2))
        expected = module.out_proj(out.flatten(1)).unsqueeze(1)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


def test_half_precision_in_a_long_text():
    module = SelfAttention(HEADS * HEAD_DIM, HEADS).eval()
    encoding = shaw(clip=2).float()
    module.attach(encoding)
    x = torch.randn(50, 1, HEADS * HEAD_DIM)
    with torch.no_grad():
        expected, _ = module(x, x, x, need_weights=False, attn_mask=CAUSAL)
        module.bfloat16()
        encoding.bfloat16()
        half = x.bfloat16()
        found, _ = module(half, half, half, need_weights=False, attn_mask=CAUSAL)
    torch.testing.assert_close(found.float(), expected, atol=0.05, rtol=0)
