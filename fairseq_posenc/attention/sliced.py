"""Causal attention on a CPU in slices of queries, and gradients of what is added to the scores.

Where that goes by the distance alone, no mask is ever made: with the keys in reverse, query q and key k meet at number
q + k of a row of biases, so that the mask of a slice is a view in which each row begins one number later.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

#: Queries of a slice: with fewer, PyTorch's kernel works in smaller pieces and is slower.
ROWS = 256
#: Queries at a time where the weights are computed as a whole: these stay in the cache.
AT_ONCE = 64


def attention_by_distance(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """softmax(q k^T / sqrt(D) + bias) v, where each query sees the keys up to its own.

    The backward pass computes the weights once more: nothing is kept that has a number for each query and key.

    Args:
        q, k, v: (B, H, Tq, E), (B, H, Tk, E), (B, H, Tk, D); the queries are the last of the keys. E may be more than
            D, and v may have a narrower dtype.
        bias: (1, H or 1, 1, Tk), what the last query adds to its scores. Others add the same at the same distances.

    Returns:
        (B, H, Tq, D), as v.
    """
    rows = min(ROWS, q.size(2))
    # A query of a slice is followed by up to rows - 1 keys, which it must not see.
    by_distance = F.pad(bias.squeeze(2).flip(-1), (rows - 1, 0), value=-math.inf)
    return _attention(q, k.flip(2), v.flip(2), by_distance)


def attention_with_mask(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor, causal: bool = False
) -> torch.Tensor:
    """softmax(q k^T / sqrt(D) + mask) v for a mask (B or 1, H or 1, Tq, Tk) that needs a gradient.

    The same, but queries may be any, and see what the mask lets them see.

    Args:
        causal: the queries are the last of the keys, and the mask hides those after each: they are left out.
    """
    return _attention(q, k, v, mask, causal)


def _attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, added: torch.Tensor, causal: bool = True
) -> torch.Tensor:
    dim, more = v.size(-1), q.size(-1) - v.size(-1)
    wide = F.pad(v, (0, more)).to(q.dtype) if more else v.to(q.dtype)
    x: torch.Tensor = _Attention.apply(q, k, wide, added, causal, 1 / math.sqrt(dim))
    return x[..., :dim].to(v.dtype)


def slices(queries: int, keys: int, rows: int) -> Iterator[tuple[slice, int]]:
    """Each slice of the queries, and how many keys it sees.

    The last comes first: after it, all others fit into the memory that it gives back.
    """
    for stop in range(queries, 0, -rows):
        yield slice(max(0, stop - rows), stop), keys - queries + stop


class _Attention(torch.autograd.Function):
    """Of ``added``: (B or 1, H or 1, Tq, Tk), or by distance, (1, H or 1, rows - 1 + Tk), for keys in reverse."""

    @staticmethod
    def forward(
        ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, added: torch.Tensor, causal: bool, scale: float
    ) -> torch.Tensor:
        kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        # In memory as the kernel returns it, and as the layer reads it.
        out = q.new_empty(q.size(0), q.size(2), q.size(1), v.size(3)).transpose(1, 2)
        sums = []
        for rows, seen, mask in _slices(q, k, added.to(q.dtype), causal):
            given = q[:, :, rows], k[:, :, seen], v[:, :, seen]
            out[:, :, rows], total = kernel(*given, attn_mask=mask, scale=scale)
            sums.append(total)
        ctx.causal, ctx.scale = causal, scale
        ctx.save_for_backward(q, k, v, added, out, *sums)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        q, k, v, added, out, *sums = ctx.saved_tensors
        if ctx.needs_input_grad[3]:
            return *_with_gradient_of_added(q, k, v, added, grad, ctx.causal, ctx.scale), None, None
        kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
        wide = torch.promote_types(q.dtype, torch.float32)
        grad_q = torch.empty_like(q)
        grad_k = grad_v = q.new_empty(0)
        for (rows, seen, mask), total in zip(_slices(q, k, added.to(q.dtype), ctx.causal), sums):
            given = grad[:, :, rows], q[:, :, rows], k[:, :, seen], v[:, :, seen], out[:, :, rows], total
            grad_q[:, :, rows], more_k, more_v = kernel(*given, 0.0, False, attn_mask=mask, scale=ctx.scale)
            if rows.stop == q.size(2):  # the first slice, which sees all keys
                grad_k, grad_v = more_k.to(wide), more_v.to(wide)
            else:
                grad_k[:, :, seen] += more_k
                grad_v[:, :, seen] += more_v
        return grad_q, grad_k.to(k.dtype), grad_v.to(v.dtype), None, None, None


def _slices(
    q: torch.Tensor, k: torch.Tensor, added: torch.Tensor, causal: bool, most: int | None = None
) -> Iterator[tuple[slice, slice, torch.Tensor]]:
    """Slices of at most ``most`` queries, which keys each sees, and what is added to its scores."""
    queries, keys = q.size(-2), k.size(-2)
    if added.dim() == 4:
        for rows, count in slices(queries, keys, most or (ROWS if causal else queries)):
            seen = slice(count if causal else keys)
            yield rows, seen, added[:, :, rows, seen]
        return
    longest = added.size(-1) - keys + 1
    for rows, count in slices(queries, keys, min(most or longest, longest)):
        length = rows.stop - rows.start
        numbers = added[..., longest - length :]
        mask = numbers.as_strided((*numbers.shape[:-1], length, count), (*numbers.stride(), 1))
        yield rows, slice(keys - count, keys), mask


def _with_gradient_of_added(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    added: torch.Tensor,
    grad: torch.Tensor,
    causal: bool,
    scale: float,
) -> tuple[torch.Tensor, ...]:
    """Gradients of all four, by plain products: no kernel for a CPU has that of what is added."""
    given, heads, wide = (q, k, v, added), q.shape[:2], torch.promote_types(q.dtype, torch.float32)
    q, k, v, grad = (x.to(wide).flatten(0, 1).contiguous() for x in (q, k, v, grad))
    q = q * scale
    q_columns, k_columns, v_columns, grad_columns = (x.transpose(1, 2).contiguous() for x in (q, k, v, grad))
    grad_q, grad_k, grad_v = torch.empty_like(q), torch.zeros_like(k_columns), torch.zeros_like(v_columns)
    grad_added = torch.zeros_like(added, dtype=wide)
    most = min(AT_ONCE, q.size(1))
    room = q.new_empty(2, q.size(0) * most * (k.size(1) + most))
    for rows, seen, mask in _slices(q, k, added, causal, most):
        length, count = rows.stop - rows.start, mask.size(-1)
        # By distance, zeros behind each row: what is added is on diagonals, which become columns by a shift.
        width = count if added.dim() == 4 else count + length
        weights, grad_scores = (x[: q.size(0) * length * width].view(-1, length, width) for x in room)
        weights[..., count:] = -math.inf
        grad_scores[..., count:] = 0
        own_weights, own_grad_scores = weights[..., :count], grad_scores[..., :count]
        own_weights.unflatten(0, heads).copy_(mask)
        own_weights.baddbmm_(q[:, rows], k_columns[:, :, seen])
        torch.softmax(weights, dim=-1, out=weights)
        grad_v[:, :, seen].baddbmm_(grad_columns[:, :, rows], own_weights)
        torch.bmm(grad[:, rows], v_columns[:, :, seen], out=own_grad_scores)
        torch.ops.aten._softmax_backward_data.out(grad_scores, weights, -1, wide, grad_input=grad_scores)
        grad_k[:, :, seen].baddbmm_(q_columns[:, :, rows], own_grad_scores)
        grad_q[:, rows] = torch.bmm(own_grad_scores, k[:, seen])
        if added.dim() == 4:
            grad_added[:, :, rows, seen] = grad_scores.unflatten(0, heads).sum_to_size(mask.shape)
        else:
            diagonals = grad_scores.as_strided((q.size(0), length, width - 1), (length * width, width - 1, 1))
            sums = diagonals.sum(dim=1).unflatten(0, heads)
            reached = slice(added.size(-1) - k.size(1) + 1 - length, added.size(-1) - k.size(1) + count)
            grad_added[..., reached] += sums.sum_to_size(1, added.size(1), width - 1)
    grads = (grad_q.mul_(scale), grad_k.transpose(1, 2), grad_v.transpose(1, 2))
    per_head = (x.unflatten(0, heads).to(y.dtype) for x, y in zip(grads, given))
    return *per_head, grad_added.to(added.dtype)
