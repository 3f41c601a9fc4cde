"""Our self-attention against the plain formula, with every hook, mask and cache."""

import math

import pytest
import torch
from fairseq.modules import MultiheadAttention

from fairseq_posenc.attention.self_attention import CAUSAL, SelfAttention
from fairseq_posenc.encodings import PositionEncoding, Stack
from fairseq_posenc.encodings.positions import Positions

BATCH, LENGTH, HEADS, HEAD_DIM = 3, 7, 2, 4
DIM = HEADS * HEAD_DIM


class EveryHook(PositionEncoding):
    """Uses all hooks of attention, so that the module is tested with all of them at once."""

    def rotate(self, q, k, q_idx, kv_idx):
        q_idx, kv_idx = torch.tensor(q_idx), torch.tensor(kv_idx)
        return q * torch.cos(0.1 * q_idx)[:, None].to(q), k * torch.cos(0.2 * kv_idx)[:, None].to(k)

    def bias(self, q_idx, kv_idx, device):
        distance = (torch.tensor(q_idx)[:, None] - torch.tensor(kv_idx)).float()
        return torch.stack([-0.3 * distance, -0.1 * distance.pow(2)])

    def values(self, v, positions):
        return v * (1 + 0.5 * Positions.of(positions).index)[:, None, :, None].to(v)


def attention(encoding=None, dtype=torch.float64):
    torch.manual_seed(1)
    module = SelfAttention(DIM, HEADS).to(dtype).eval()
    module.attach(encoding)
    return module


def every_hook():
    return EveryHook(Stack(DIM, HEADS))


def naive(module, x, padding, causal):
    """softmax(q k / sqrt(D) + bias) v, one query, key and head at a time: x (T, B, C) -> (T, B, C), (B, H, T, T)."""
    length, batch, _ = x.shape
    weights = x.new_zeros(batch, HEADS, length, length)
    out = x.new_zeros(batch, length, HEADS, HEAD_DIM)
    q, k, v = (p(x).view(length, batch, HEADS, HEAD_DIM) for p in (module.q_proj, module.k_proj, module.v_proj))
    for b in range(batch):
        position = [int((~padding[b, :j]).sum()) for j in range(length)]
        for h in range(HEADS):
            for i in range(length):
                keys = [j for j in range(length) if not padding[b, j] and (j <= i or not causal)]
                scores = []
                for j in keys:
                    score = (q[i, b, h] @ k[j, b, h]) / math.sqrt(HEAD_DIM)
                    if module.position_encoding is not None:
                        score = score * math.cos(0.1 * i) * math.cos(0.2 * j)
                        score = score - (0.3 * (i - j) if h == 0 else 0.1 * (i - j) ** 2)
                    scores.append(score)
                if not keys:
                    continue
                shares = torch.stack(scores).softmax(0)
                for share, j in zip(shares, keys):
                    weights[b, h, i, j] = share
                    scale = 1 if module.position_encoding is None else 1 + 0.5 * position[j]
                    out[b, i, h] += share * scale * v[j, b, h]
    return module.out_proj(out.reshape(batch, length, DIM)).transpose(0, 1), weights


PADDINGS = {
    "none": torch.zeros(BATCH, LENGTH).bool(),
    "left": torch.tensor([[1, 1, 1, 0, 0, 0, 0], [0] * 7, [1, 0, 0, 0, 0, 0, 0]]).bool(),
    "right": torch.tensor([[0, 0, 0, 0, 0, 1, 1], [0] * 7, [0, 0, 0, 0, 0, 0, 1]]).bool(),
}


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("side", PADDINGS)
@pytest.mark.parametrize("encoding", [None, every_hook()], ids=["plain", "every hook"])
def test_equals_formula(encoding, side, causal):
    module, padding = attention(encoding), PADDINGS[side]
    x = torch.randn(LENGTH, BATCH, DIM, dtype=torch.float64)
    expected, expected_weights = naive(module, x, padding, causal)
    mask = CAUSAL if causal else None
    given = padding if padding.any() else None
    fused, no_weights = module(x, x, x, given, need_weights=False, attn_mask=mask)
    out, weights = module(x, x, x, given, need_head_weights=True, attn_mask=mask)
    average = module(x, x, x, given, attn_mask=mask)[1]
    assert no_weights is None
    tokens = ~padding.transpose(0, 1)
    torch.testing.assert_close(fused[tokens], expected[tokens], atol=1e-7, rtol=0)
    torch.testing.assert_close(out[tokens], expected[tokens], atol=1e-6, rtol=0)
    assert fused.isfinite().all() and out.isfinite().all()
    for b in range(BATCH):
        real = ~padding[b]
        torch.testing.assert_close(weights[:, b, real].double(), expected_weights[b][:, real], atol=1e-6, rtol=0)
    torch.testing.assert_close(average, weights.mean(0))


@pytest.mark.parametrize("chunks", [[1] * 7, [3, 1, 1, 2], [5, 2], [1, 6]], ids=str)
@pytest.mark.parametrize("side", PADDINGS)
@pytest.mark.parametrize("encoding", [None, every_hook()], ids=["plain", "every hook"])
def test_cached_chunks_equal_one_pass(encoding, side, chunks):
    """Any number of new queries after any prefix."""
    module, padding = attention(encoding), PADDINGS[side]
    x = torch.randn(LENGTH, BATCH, DIM, dtype=torch.float64)
    whole, _ = module(x, x, x, padding, need_weights=False, attn_mask=CAUSAL)
    state, parts, start = {}, [], 0
    for size in chunks:
        chunk = x[start : start + size]
        # As fairseq does: a mask only for chunks that hold padding.
        mask = padding[:, start : start + size]
        out, _ = module(chunk, chunk, chunk, mask if mask.any() else None, state, need_weights=False)
        parts.append(out)
        start += size
    tokens = ~padding.transpose(0, 1)
    torch.testing.assert_close(torch.cat(parts)[tokens], whole[tokens], atol=1e-9, rtol=0)


def test_cache_follows_reordered_beams():
    module = attention(every_hook())
    x = torch.randn(LENGTH, BATCH, DIM, dtype=torch.float64)
    order = torch.tensor([2, 0, 0])
    state = {}
    module(x[:4], None, None, None, state, need_weights=False)
    module.reorder_incremental_state(state, order)
    reordered = torch.cat([x[:4, order], x[4:]])
    out, _ = module(x[4:], None, None, None, state, need_weights=False)
    whole, _ = module(reordered, None, None, need_weights=False, attn_mask=CAUSAL)
    torch.testing.assert_close(out, whole[4:], atol=1e-9, rtol=0)


@pytest.mark.parametrize("kind", ["additive", "boolean"])
def test_given_mask_equals_causal(kind):
    """A (T, S) mask as other fairseq models pass it."""
    module = attention(every_hook())
    x = torch.randn(LENGTH, BATCH, DIM, dtype=torch.float64)
    hidden = torch.ones(LENGTH, LENGTH).triu(1).bool()
    mask = hidden if kind == "boolean" else torch.zeros(LENGTH, LENGTH).masked_fill(hidden, float("-inf"))
    given, _ = module(x, x, x, need_weights=False, attn_mask=mask)
    causal, _ = module(x, x, x, need_weights=False, attn_mask=CAUSAL)
    torch.testing.assert_close(given, causal)


def test_future_has_exactly_no_gradient():
    module = attention(every_hook())
    x = torch.randn(LENGTH, 1, DIM, dtype=torch.float64, requires_grad=True)
    out, _ = module(x, x, x, need_weights=False, attn_mask=CAUSAL)
    for i in range(LENGTH):
        (gradient,) = torch.autograd.grad(out[i].sum(), x, retain_graph=True)
        assert gradient[i + 1 :].eq(0).all()
        assert gradient[: i + 1].abs().sum(-1).gt(0).all()


def test_equals_stock_module():
    """Without an encoding: fairseq's own attention, weights included."""
    ours = attention()
    stock = MultiheadAttention(DIM, HEADS, self_attention=True).double().eval()
    stock.load_state_dict(ours.state_dict())
    x = torch.randn(LENGTH, BATCH, DIM, dtype=torch.float64)
    for padding in PADDINGS.values():
        for options in ({}, {"need_head_weights": True}):
            expected, expected_weights = stock(x, x, x, padding, {}, **options)
            out, weights = ours(x, x, x, padding, None, **options)
            torch.testing.assert_close(out, expected, atol=1e-6, rtol=0)
            torch.testing.assert_close(weights.double(), expected_weights.double(), atol=1e-6, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("encoding", [None, every_hook()], ids=["plain", "every hook"])
def test_low_precision(dtype, encoding):
    """The error against float64 is at most twice that of the plain formula in the same precision."""
    exact, low = attention(encoding), attention(encoding).to(dtype)
    exact.load_state_dict({key: value.double() for key, value in low.state_dict().items()})
    x = torch.randn(LENGTH, BATCH, DIM).to(dtype)
    padding = PADDINGS["left"]
    tokens = ~padding.transpose(0, 1)
    with torch.no_grad():
        expected, _ = naive(exact, x.double(), padding, True)
        plain, _ = naive(low, x, padding, True)
        fused, _ = low(x, x, x, padding, need_weights=False, attn_mask=CAUSAL)
    assert fused.dtype == dtype
    error, plain_error = ((y.double() - expected)[tokens].abs().max() for y in (fused, plain))
    assert error <= 2 * plain_error


def test_dropout_only_while_training():
    module = SelfAttention(DIM, HEADS, dropout=0.5)
    x = torch.randn(LENGTH, BATCH, DIM)
    module.eval()
    assert torch.equal(module(x, need_weights=False)[0], module(x, need_weights=False)[0])
    module.train()
    for need_weights in (False, True):
        first, second = (module(x, need_weights=need_weights)[0] for _ in range(2))
        assert not torch.equal(first, second)
