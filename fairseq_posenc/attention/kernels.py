"""How attention is computed: a fused kernel where no weights are asked for, plain products where they are."""

import math
from contextlib import nullcontext

import torch
from torch.nn import functional as F


def keeping_dtype(x, narrow):
    """Where ``x`` was given a wider dtype than ``narrow``, a context in which autocast does not cast it down again."""
    return nullcontext() if x.dtype == narrow.dtype else torch.autocast(x.device.type, enabled=False)


def fused_attention(q, k, v, mask=None, causal=False, dropout=0.0):
    """softmax(q k^T / sqrt(D) + mask) v by PyTorch's fused kernels.

    Args:
        q, k, v: (B, H, Tq, D), (B, H, Tk, D), (B, H, Tk, D); v may have a narrower dtype.
        mask: None, boolean (True: attend) or additive; broadcastable to (B, H, Tq, Tk).
        causal: hide later keys; only without a mask and with Tq = Tk.
        dropout: of the attention weights.

    Returns:
        (B, H, Tq, D), as v.
    """
    wide = v.to(q.dtype)
    with keeping_dtype(q, v):
        x = F.scaled_dot_product_attention(q, k, wide, attn_mask=mask, dropout_p=dropout, is_causal=causal)
    return x.to(v.dtype)


def weighted_attention(q, k, v, mask=None, dropout=0.0, scores=None, mix=None):
    """The same, also returning the attention weights (B, H, Tq, Tk) before dropout, in fp32 or better.

    ``mask`` is None or additive. ``scores(q, k)`` and ``mix(weights, v)`` replace the two products. Memory grows with
    Tq x Tk.
    """
    precision = torch.promote_types(q.dtype, torch.float32)
    q = q / math.sqrt(q.size(-1))
    with keeping_dtype(q, v):
        products = (q @ k.transpose(-2, -1) if scores is None else scores(q, k)).to(precision)
    if mask is not None:
        products = products + mask
    weights = torch.softmax(products, dim=-1)
    dropped = F.dropout(weights, dropout)
    return dropped.to(v.dtype) @ v if mix is None else mix(dropped, v), weights
