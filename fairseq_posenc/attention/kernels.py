"""How attention is computed: a fused kernel where no weights are asked for, plain products where they are."""

import math
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from importlib.util import find_spec
from typing import Any

import torch
from torch.nn import functional as F

from fairseq_posenc.encodings.positions import is_eager

#: The size, stride and offset of a tensor in its storage.
Layout = tuple[torch.Size, tuple[int, ...], int | torch.SymInt]


def keeping_dtype(x: torch.Tensor, narrow: torch.Tensor) -> AbstractContextManager[Any]:
    """Where ``x`` was given a wider dtype than ``narrow``, a context in which autocast does not cast it down again."""
    return nullcontext() if x.dtype == narrow.dtype else torch.autocast(x.device.type, enabled=False)


def fused_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> torch.Tensor:
    """softmax(q k^T / sqrt(D) + mask) v by PyTorch's fused kernels.

    Args:
        q, k, v: (B, H, Tq, E), (B, H, Tk, E), (B, H, Tk, D); v may have a narrower dtype. E may be more than D.
        mask: None, boolean (True: attend) or additive; broadcastable to (B, H, Tq, Tk).
        causal: hide later keys; only without a mask and with Tq = Tk.
        dropout: of the attention weights.

    Returns:
        (B, H, Tq, D), as v.
    """
    dim, more = v.size(-1), q.size(-1) - v.size(-1)
    # Kernels that need no (Tq, Tk) numbers want as many dimensions of each.
    wide = F.pad(v, (0, more)).to(q.dtype) if more else v.to(q.dtype)
    options: dict[str, Any] = {"scale": 1 / math.sqrt(dim)} if more else {}
    shared = mask is not None and mask.requires_grad and _has_own_gradient(q, mask, dropout)
    given = mask.detach() if mask is not None and shared else mask
    with keeping_dtype(q, v):
        x = F.scaled_dot_product_attention(q, k, wide, attn_mask=given, dropout_p=dropout, is_causal=causal, **options)
    if mask is not None and shared:
        from fairseq_posenc.attention.bias_gradient import with_bias_gradient

        x = with_bias_gradient(x, q, k, wide, mask, 1 / math.sqrt(dim))
    return x[..., :dim].to(v.dtype)


def _has_own_gradient(q: torch.Tensor, mask: torch.Tensor, dropout: float) -> bool:
    """Whether a kernel of ours computes the gradient of ``mask``, so that PyTorch's fastest ones serve for the rest."""
    narrow = q.dtype in (torch.float16, torch.bfloat16) and q.dtype == mask.dtype
    one_for_all = mask.dim() == 4 and mask.size(0) == 1 and mask.size(1) == q.size(1)
    small = dropout == 0 and q.size(-1) <= 128
    return q.is_cuda and is_eager() and narrow and one_for_all and small and _runs_triton(q.device)


@cache
def _runs_triton(device: torch.device) -> bool:
    """Whether Triton, which PyTorch's CUDA builds bring with them, makes kernels for this GPU."""
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    return find_spec("triton") is not None and bool(compiler) and torch.cuda.get_device_capability(device) >= (7, 0)


@contextmanager
def rebuilt_for_backward(mask: torch.Tensor, build: Callable[[], torch.Tensor | None]) -> Iterator[None]:
    """While inside, autograd does not keep ``mask`` nor its parts: ``build()`` makes it again in the backward pass."""
    storage = mask.untyped_storage().data_ptr()

    def pack(kept: torch.Tensor) -> torch.Tensor | Layout:
        if kept.untyped_storage().data_ptr() != storage:
            return kept
        return kept.size(), kept.stride(), kept.storage_offset()

    def unpack(kept: torch.Tensor | Layout) -> torch.Tensor:
        if isinstance(kept, torch.Tensor):
            return kept
        with torch.no_grad():
            rebuilt = build()
        assert rebuilt is not None  # nor was ``mask``
        return rebuilt.as_strided(*kept)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        yield


#: Query times key, such as the hook ``scores`` of an encoding.
Products = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def scaled_products(q: torch.Tensor, k: torch.Tensor, head_dim: int, scores: Products | None = None) -> torch.Tensor:
    """q k / sqrt(head_dim), or ``scores(q / sqrt(head_dim), k)``, in fp32 or better."""
    precision, scale = torch.promote_types(q.dtype, torch.float32), math.sqrt(head_dim)
    # What an encoding gives queries and keys in more dimensions may be exact numbers, which rounding would spoil.
    exact = q.size(-1) > head_dim and q.dtype != precision
    if not exact:
        q = q / scale
    products = (q @ k.transpose(-2, -1) if scores is None else scores(q, k)).to(precision)
    return products / scale if exact else products


def weighted_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None = None,
    dropout: float = 0.0,
    scores: Products | None = None,
    mix: Products | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same, also returning the attention weights (B, H, Tq, Tk) before dropout, in fp32 or better.

    ``mask`` is None or additive. ``scores(q, k)`` and ``mix(weights, v)`` replace the two products. Memory grows with
    Tq x Tk.
    """
    with keeping_dtype(q, v):
        products = scaled_products(q, k, v.size(-1), scores)
    if mask is not None:
        products = products + mask
    weights = torch.softmax(products, dim=-1)
    dropped = F.dropout(weights, dropout)
    return dropped.to(v.dtype) @ v if mix is None else mix(dropped, v), weights
