"""Who may attend to whom, as additive or boolean masks."""

from typing import Any

import torch

from fairseq_posenc.attention.patterns import Pattern
from fairseq_posenc.attention.runs import Columns, column_tensor
from fairseq_posenc.encodings.positions import is_eager, length_of

#: Numbers: rows of a mask begin at multiples of it.
ALIGNMENT = 8


def visible_keys(
    q_idx: range,
    kv_idx: Columns,
    pattern: Pattern | None,
    padding: torch.Tensor | None,
    device: torch.device,
    positions: torch.Tensor | None = None,
) -> torch.Tensor | None:
    """Which keys each query may attend to, or None where every query sees every key.

    Args:
        q_idx, kv_idx: the column indices of the Tq queries and of the Tk keys; a query's own column is a key.
        pattern: see patterns.py; None in a stack that is not causal.
        padding: (B, Tk), True at padding, or None.
        device: of the result.
        positions: (B, Tk), the keys' positions in their own sentences, where these are not the indices; the pattern
            goes by them.

    Returns:
        bool, broadcastable to (B, H, Tq, Tk), True where a query may attend; or None. A query that sits on padding
        may always attend to its own column, so that no row of the softmax is empty.
    """
    if pattern is None:
        return None if padding is None else ~padding[:, None, None, :]
    hides = pattern.hides_any(q_idx, kv_idx)
    if padding is None and positions is None and not hides and kv_idx.stop - 1 <= q_idx.start:
        return None
    q, k = column_tensor(q_idx, device).unsqueeze(1), column_tensor(kv_idx, device)
    if positions is not None:
        q_positions = positions[:, q_idx.start - kv_idx.start :][:, : length_of(q_idx)]
        visible = pattern.visible(q_positions[:, None, :, None], positions[:, None, None, :])
    else:
        visible = (pattern.visible(q, k) if hides else k <= q)[None, None]
    return visible if padding is None else (visible & ~padding[:, None, None, :]) | (k == q)[None, None]


def additive(visible: torch.Tensor | None, bias: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor | None:
    """One tensor to add to the scores, from a boolean mask and a bias of four dimensions (either may be None)."""
    if is_eager():
        return None if visible is None and bias is None else _Additive.apply(visible, bias, dtype)
    # PyTorch's compiler decides itself what is kept and how it lies in memory.
    if visible is None:
        return None if bias is None else bias.to(dtype)
    values = torch.zeros((), dtype=dtype, device=visible.device) if bias is None else bias.to(dtype)
    return torch.where(visible, values, float("-inf"))


class _Additive(torch.autograd.Function):
    """``additive``, without keeping ``visible``: softmax gives hidden keys, and so their bias, no gradient."""

    @staticmethod
    def forward(ctx: Any, visible: torch.Tensor | None, bias: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor:
        given = [x for x in (visible, bias) if x is not None]
        shape, device = given[0].shape, given[0].device
        if len(given) == 2:
            # Not torch.broadcast_shapes, whose first call imports for a third of a second.
            shape = torch.Size(m if n == 1 else n for m, n in zip(*(x.shape for x in given)))
        # Rows begin where fused kernels of GPUs can read them; otherwise these copy the mask at every call.
        width = -(-shape[-1] // ALIGNMENT) * ALIGNMENT
        added = torch.empty(*shape[:-1], width, dtype=dtype, device=device)[..., : shape[-1]]
        if visible is not None:
            zero = torch.zeros((), dtype=dtype, device=device)
            torch.where(visible, zero if bias is None else bias.to(dtype), zero - float("inf"), out=added)
        elif bias is not None:
            added.copy_(bias)
        if bias is not None:
            ctx.bias_shape, ctx.bias_dtype = bias.shape, bias.dtype
        return added

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[None, torch.Tensor, None]:
        return None, _centered(grad, ctx.bias_dtype).sum_to_size(ctx.bias_shape), None


def _centered(grad: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The gradient (.., Tq, Tk) of what is added to scores, in a wider dtype without what rounding has added to rows.

    The gradient of softmax sums to zero over the keys of a query. In half precision it does not, by far more than what
    the parameters of a flat bias are to learn from it.
    """
    wide = grad.to(dtype)
    if grad.dtype == dtype:
        return wide
    seen = wide != 0
    return wide - seen * (wide.sum(-1, keepdim=True) / seen.sum(-1, keepdim=True).clamp(min=1))
