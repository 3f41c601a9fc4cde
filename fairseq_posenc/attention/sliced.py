"""Attention on a CPU in slices of queries that all read one mask, with a backward pass of its own.

Where what is added to the scores goes by the distance alone, the mask of the last slice is that of every other, further
to the right. It is built once, not once per slice and pass, and gradients of keys and values are added up in place.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

#: Queries of a slice: with fewer, PyTorch's kernel works in smaller pieces and is slower.
ROWS = 256
#: The least, where ROWS would make a mask that is too large.
LEAST = 64
#: Queries at a time where the weights are computed as a whole: these stay in the cache.
AT_ONCE = 64


def sliced_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """softmax(q k^T / sqrt(D) + mask) v, for as many queries at a time as the mask has; also where it needs a gradient.

    The backward pass computes the weights once more: nothing is kept that has a number for each query and key.

    Args:
        q, k, v: (B, H, Tq, E), (B, H, Tk, E), (B, H, Tk, D); the queries are the last of the keys where the mask has
            fewer. E may be more than D, and v may have a narrower dtype.
        mask: additive, (B or 1, H or 1, rows, Tk), for the last queries. With fewer than Tq, the others must see the
            keys before them at the same distances, and no later ones.

    Returns:
        (B, H, Tq, D), as v.
    """
    dim, more = v.size(-1), q.size(-1) - v.size(-1)
    wide = F.pad(v, (0, more)).to(q.dtype) if more else v.to(q.dtype)
    x: torch.Tensor = _Sliced.apply(q, k, wide, mask, 1 / math.sqrt(dim))
    return x[..., :dim].to(v.dtype)


def rows_of(room: int) -> int:
    """Queries of a slice: ROWS, or fewer where a mask has room for fewer."""
    rows = ROWS
    while rows > max(room, LEAST):
        rows //= 2
    return rows


def slices(queries: int, keys: int, rows: int) -> Iterator[tuple[slice, int]]:
    """Each slice of the queries, and how many keys it sees.

    The last comes first: after it, all others fit into the memory that it gives back.
    """
    for stop in range(queries, 0, -rows):
        yield slice(max(0, stop - rows), stop), keys - queries + stop


def part_of(mask: torch.Tensor, queries: int, keys: int) -> torch.Tensor:
    """What a slice of so many queries reads of the mask of the last one, where it sees so many keys."""
    return mask[..., mask.size(-2) - queries :, mask.size(-1) - keys :]


class _Sliced(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor, scale: float
    ) -> torch.Tensor:
        kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        # In memory as the kernel returns it, and as the layer reads it.
        out = q.new_empty(q.size(0), q.size(2), q.size(1), v.size(3)).transpose(1, 2)
        sums = []
        for rows, count in slices(q.size(2), k.size(2), mask.size(2)):
            part = part_of(mask, rows.stop - rows.start, count)
            some_k, some_v = k[:, :, :count], v[:, :, :count]
            out[:, :, rows], total = kernel(q[:, :, rows], some_k, some_v, attn_mask=part, scale=scale)
            sums.append(total)
        ctx.scale = scale
        ctx.save_for_backward(q, k, v, mask, out, *sums)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        q, k, v, mask, out, *sums = ctx.saved_tensors
        if ctx.needs_input_grad[3]:
            return *_with_mask(q, k, v, mask, grad, ctx.scale), None
        kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
        wide = torch.promote_types(q.dtype, torch.float32)
        grad_q = torch.empty_like(q)
        grad_k = grad_v = q.new_empty(0)
        for (rows, count), total in zip(slices(q.size(2), k.size(2), mask.size(2)), sums):
            part = part_of(mask, rows.stop - rows.start, count)
            given = grad[:, :, rows], q[:, :, rows], k[:, :, :count], v[:, :, :count], out[:, :, rows], total
            grad_q[:, :, rows], more_k, more_v = kernel(*given, 0.0, False, attn_mask=part, scale=ctx.scale)
            if rows.stop == q.size(2):  # the first slice, which sees all keys
                grad_k, grad_v = more_k.to(wide), more_v.to(wide)
            else:
                grad_k[:, :, :count] += more_k
                grad_v[:, :, :count] += more_v
        return grad_q, grad_k.to(k.dtype), grad_v.to(v.dtype), None, None


def _with_mask(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor, grad: torch.Tensor, scale: float
) -> tuple[torch.Tensor, ...]:
    """Gradients of all four, by plain products: no kernel for a CPU has that of the mask."""
    given, wide = (q, k, v, mask), torch.promote_types(q.dtype, torch.float32)
    heads, alone = q.shape[:2], mask.size(2) == q.size(2)
    q, k, v, grad = (x.to(wide).flatten(0, 1).contiguous() for x in (q, k, v, grad))
    q = q * scale
    k_columns, v_columns = (x.transpose(1, 2).contiguous() for x in (k, v))
    grad_q, grad_k, grad_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
    grad_mask = torch.zeros_like(mask, dtype=wide)
    for rows, count in slices(q.size(1), k.size(1), mask.size(2)):
        parts = [part_of(x, rows.stop - rows.start, count) for x in (mask, grad_mask)]
        for start in range(rows.start, rows.stop, AT_ONCE):
            some = slice(start, min(start + AT_ONCE, rows.stop))
            # In several slices, nothing sees the keys of later queries.
            seen = count if alone else count - rows.stop + some.stop
            added, grad_added = (x[:, :, start - rows.start : some.stop - rows.start, :seen] for x in parts)
            scores = torch.bmm(q[:, some], k_columns[:, :, :seen])
            scores.unflatten(0, heads).add_(added)
            weights = torch.softmax(scores, dim=-1)
            grad_v[:, :seen].baddbmm_(weights.transpose(1, 2), grad[:, some])
            grad_weights = torch.bmm(grad[:, some], v_columns[:, :, :seen])
            # Not from results times their gradients, whose rounding would be in the sum over keys, which is zero.
            inner = (grad_weights * weights).sum(dim=-1, keepdim=True)
            grad_scores = grad_weights.sub_(inner).mul_(weights)
            grad_k[:, :seen].baddbmm_(grad_scores.transpose(1, 2), q[:, some])
            grad_q[:, some] = torch.bmm(grad_scores, k[:, :seen])
            grad_added += grad_scores.unflatten(0, heads).sum_to_size(grad_added.shape)
    grads = (grad_q.mul_(scale), grad_k, grad_v)
    per_head = (x.unflatten(0, heads).to(y.dtype) for x, y in zip(grads, given))
    return *per_head, grad_mask.to(mask.dtype)
