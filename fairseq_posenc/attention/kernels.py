"""How attention is computed: a fused kernel where no weights are asked for, plain products where they are."""

import math
from contextlib import contextmanager, nullcontext

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


def fused_attention_with_bias_gradient(q, k, v, mask):
    """fused_attention for a mask that needs a gradient, where the kernel has none.

    The backward pass computes the weights once more: more time than plain products take, but no memory until then.
    """
    return _BiasGradient.apply(q, k, v, mask)


class _BiasGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, mask):
        ctx.save_for_backward(q, k, v, mask)
        return fused_attention(q, k, v, mask)

    @staticmethod
    def backward(ctx, grad):
        *given, mask = ctx.saved_tensors
        wide = torch.promote_types(given[0].dtype, torch.float32)
        q, k, v, grad = (x.to(wide) for x in (*given, grad))
        scale = 1 / math.sqrt(q.size(-1))
        q = q * scale
        weights = torch.softmax((q @ k.transpose(-2, -1)).add_(mask), dim=-1)
        grad_v = weights.transpose(-2, -1) @ grad
        grad_weights = grad @ v.transpose(-2, -1)
        inner = (grad_weights * weights).sum(dim=-1, keepdim=True)
        grad_scores = grad_weights.sub_(inner).mul_(weights)
        grad_q = (grad_scores @ k).mul_(scale)
        grad_k = grad_scores.transpose(-2, -1) @ q
        grads = (x.to(y.dtype) for x, y in zip((grad_q, grad_k, grad_v), given))
        return *grads, grad_scores.sum_to_size(mask.shape).to(mask.dtype)


@contextmanager
def rebuilt_for_backward(mask, build):
    """While inside, autograd does not keep ``mask`` nor its parts: ``build()`` makes it again in the backward pass."""
    storage = mask.untyped_storage().data_ptr()

    def pack(kept):
        if kept.untyped_storage().data_ptr() != storage:
            return kept
        return kept.size(), kept.stride(), kept.storage_offset()

    def unpack(kept):
        if isinstance(kept, torch.Tensor):
            return kept
        with torch.no_grad():
            return build().as_strided(*kept)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        yield


def scaled_products(q, k, scores=None):
    """q k / sqrt(D), or ``scores(q / sqrt(D), k)``, in fp32 or better."""
    precision = torch.promote_types(q.dtype, torch.float32)
    q = q / math.sqrt(q.size(-1))
    return (q @ k.transpose(-2, -1) if scores is None else scores(q, k)).to(precision)


def weighted_attention(q, k, v, mask=None, dropout=0.0, scores=None, mix=None):
    """The same, also returning the attention weights (B, H, Tq, Tk) before dropout, in fp32 or better.

    ``mask`` is None or additive. ``scores(q, k)`` and ``mix(weights, v)`` replace the two products. Memory grows with
    Tq x Tk.
    """
    with keeping_dtype(q, v):
        products = scaled_products(q, k, scores)
    if mask is not None:
        products = products + mask
    weights = torch.softmax(products, dim=-1)
    dropped = F.dropout(weights, dropout)
    return dropped.to(v.dtype) @ v if mix is None else mix(dropped, v), weights
