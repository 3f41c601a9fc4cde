"""The gradient of what is added to the scores of all sentences, which PyTorch's fastest kernels do not compute.

Two kernels for GPUs in Triton, which PyTorch's CUDA builds bring with them.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch.autograd.function import once_differentiable

#: Queries and keys of a tile.
TILE = 64
#: So many programs keep all processors of a GPU busy.
PROGRAMS = 1024
#: Arguments that differ from batch to batch. Triton would compile a kernel for those that are multiples of 16.
VARYING = ["queries", "keys", "m_head", "m_row"]


@triton.jit(do_not_specialize=VARYING)
def _normalize(  # type: ignore[no-untyped-def]
    q, k, mask, out, grad, normalizer, delta,
    heads, queries, keys, dim, scale,
    q_batch, q_head, q_row, k_batch, k_head, k_row, m_head, m_row,
    o_batch, o_head, o_row, g_batch, g_head, g_row,
    tile: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """For some queries of a head: the logarithm of the sum of exp(scores), and the sum of grad times out."""
    batch, head = (tl.program_id(0) // heads).to(tl.int64), tl.program_id(0) % heads
    row, column, d = tl.program_id(1) * tile + tl.arange(0, tile), tl.arange(0, tile), tl.arange(0, width)
    inside = (row < queries)[:, None] & (d < dim)[None, :]
    some_q = tl.load(q + batch * q_batch + head * q_head + row[:, None] * q_row + d[None, :], inside, 0.0)
    highest = tl.full([tile], -1e30, tl.float32)
    total = tl.zeros([tile], tl.float32)
    for start in range(0, keys, tile):
        key = start + column
        there = (key < keys)[:, None] & (d < dim)[None, :]
        some_k = tl.load(k + batch * k_batch + head * k_head + key[:, None] * k_row + d[None, :], there, 0.0)
        pairs = (row < queries)[:, None] & (key < keys)[None, :]
        added = tl.load(mask + head * m_head + row[:, None].to(tl.int64) * m_row + key[None, :], pairs, float("-inf"))
        scores = tl.dot(some_q, tl.trans(some_k), input_precision="ieee") * scale + added.to(tl.float32)
        higher = tl.maximum(highest, tl.max(scores, 1))
        total = total * tl.exp(highest - higher) + tl.sum(tl.exp(scores - higher[:, None]), 1)
        highest = higher
    some_out = tl.load(out + batch * o_batch + head * o_head + row[:, None] * o_row + d[None, :], inside, 0.0)
    some_grad = tl.load(grad + batch * g_batch + head * g_head + row[:, None] * g_row + d[None, :], inside, 0.0)
    place = tl.program_id(0).to(tl.int64) * queries + row
    # A query that sees no key has no gradient.
    logarithm = tl.where(total > 0, highest + tl.log(tl.where(total > 0, total, 1.0)), float("inf"))
    tl.store(normalizer + place, logarithm, row < queries)
    tl.store(delta + place, tl.sum(some_out.to(tl.float32) * some_grad.to(tl.float32), 1), row < queries)


@triton.jit(do_not_specialize=["batch", "sentences", *VARYING])
def _accumulate(  # type: ignore[no-untyped-def]
    q, k, v, mask, grad, normalizer, delta, total,
    batch, heads, queries, keys, dim, scale, sentences,
    q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, m_head, m_row, g_batch, g_head, g_row,
    tile: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """The gradient of one tile of the mask, summed over ``sentences`` sentences."""
    head, first = tl.program_id(2) % heads, (tl.program_id(2) // heads).to(tl.int64) * sentences
    d = tl.arange(0, width)
    row, key = tl.program_id(0) * tile + tl.arange(0, tile), tl.program_id(1) * tile + tl.arange(0, tile)
    pairs = (row < queries)[:, None] & (key < keys)[None, :]
    place = row[:, None].to(tl.int64) * m_row + key[None, :]
    added = tl.load(mask + head * m_head + place, pairs, float("-inf")).to(tl.float32)
    of_tile = tl.zeros([tile, tile], tl.float32)
    count = tl.minimum(sentences, batch - first).to(tl.int32)
    count = tl.where(tl.max(tl.max(added, 1), 0) == float("-inf"), 0, count)  # nobody attends here
    inside = (row < queries)[:, None] & (d < dim)[None, :]
    there = (key < keys)[:, None] & (d < dim)[None, :]
    for step in range(count):
        b = first + step
        some_q = tl.load(q + b * q_batch + head * q_head + row[:, None] * q_row + d[None, :], inside, 0.0)
        some_k = tl.load(k + b * k_batch + head * k_head + key[:, None] * k_row + d[None, :], there, 0.0)
        some_v = tl.load(v + b * v_batch + head * v_head + key[:, None] * v_row + d[None, :], there, 0.0)
        some_grad = tl.load(grad + b * g_batch + head * g_head + row[:, None] * g_row + d[None, :], inside, 0.0)
        of_query = (b * heads + head) * queries + row
        norm = tl.load(normalizer + of_query, row < queries, float("inf"))
        mean = tl.load(delta + of_query, row < queries, 0.0)
        weights = tl.exp(tl.dot(some_q, tl.trans(some_k), input_precision="ieee") * scale + added - norm[:, None])
        of_tile += weights * (tl.dot(some_grad, tl.trans(some_v), input_precision="ieee") - mean[:, None])
    into = tl.program_id(2).to(tl.int64) * queries * keys + row[:, None].to(tl.int64) * keys + key[None, :]
    tl.store(total + into, of_tile, pairs)


class _WithBiasGradient(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, out: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor, scale: float
    ) -> torch.Tensor:
        ctx.save_for_backward(out, q, k, v, mask)
        ctx.scale = scale
        return out.view_as(out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        out, q, k, v, mask = ctx.saved_tensors
        return grad, None, None, None, bias_gradient(grad, out, q, k, v, mask, ctx.scale), None


def with_bias_gradient(
    out: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor, scale: float
) -> torch.Tensor:
    """``out``, which was computed with ``mask.detach()``, so that ``mask`` gets its gradient too. See bias_gradient."""
    return _WithBiasGradient.apply(out, q.detach(), k.detach(), v.detach(), mask, scale)


def bias_gradient(
    grad: torch.Tensor,
    out: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    """The gradient of ``mask`` in ``out = softmax(scale q k^T + mask) v``: scores and weights are computed once more,
    tile by tile, and summed over the sentences before they leave a processor.

    Args:
        grad, out: (B, H, Tq, D), the gradient of ``out``, and ``out``.
        q, k, v: (B, H, Tq, D), (B, H, Tk, D), (B, H, Tk, D), in one dtype with ``grad``.
        mask: (1, H, Tq, Tk), -inf where a query does not attend.

    Returns:
        (1, H, Tq, Tk), in the dtype of ``mask``.
    """
    grad, out, q, k, v, mask = (x if x.stride(-1) == 1 else x.contiguous() for x in (grad, out, q, k, v, mask))
    (batch, heads, queries, dim), keys = q.shape, k.size(2)
    width, tiles = max(16, triton.next_power_of_2(dim)), (triton.cdiv(queries, TILE), triton.cdiv(keys, TILE))
    normalizer, delta = (q.new_empty(batch, heads, queries, dtype=torch.float32) for _ in range(2))
    mask_strides = mask.stride(1), mask.stride(2)
    parts = min(batch, triton.cdiv(PROGRAMS, tiles[0] * tiles[1] * heads))
    sentences = triton.cdiv(batch, parts)
    parts = triton.cdiv(batch, sentences)
    total = q.new_empty(parts, heads, queries, keys, dtype=torch.float32)
    with torch.cuda.device_of(q):
        _normalize[batch * heads, tiles[0]](
            q, k, mask, out, grad, normalizer, delta,
            heads, queries, keys, dim, scale,
            *q.stride()[:3], *k.stride()[:3], *mask_strides, *out.stride()[:3], *grad.stride()[:3],
            TILE, width,
        )  # fmt: skip
        _accumulate[tiles[0], tiles[1], parts * heads](
            q, k, v, mask, grad, normalizer, delta, total,
            batch, heads, queries, keys, dim, scale, sentences,
            *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *mask_strides, *grad.stride()[:3],
            TILE, width,
        )  # fmt: skip
    return total.sum(dim=0, keepdim=True).to(mask.dtype)
