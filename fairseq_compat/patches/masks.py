"""Byte masks for attention, which fairseq documents and PyTorch has replaced by Boolean masks."""

import functools

from fairseq_compat.overlay import Overlay
from fairseq_compat.registry import patch


@patch(
    "byte_masks",
    "fairseq.modules.multihead_attention",
    fault="byte masks for attention: AssertionError: only bool and floating types ...; with xFormers: RuntimeError",
    since="PyTorch 2.0",
)
def byte_masks(module):
    """Convert byte masks to Boolean masks before they reach PyTorch."""
    torch = module.torch

    def as_bool(value):
        return value.bool() if isinstance(value, torch.Tensor) and value.dtype == torch.uint8 else value

    attention = module.F.multi_head_attention_forward

    @functools.wraps(attention)
    def multi_head_attention_forward(*args, **options):
        # Among its arguments, only masks can be bytes.
        options = {name: as_bool(value) for name, value in options.items()}
        return attention(*(as_bool(value) for value in args), **options)

    module.F = Overlay(module.F, multi_head_attention_forward=multi_head_attention_forward)
    stock = module._mask_for_xformers

    @functools.wraps(stock)
    def _mask_for_xformers(mask, to_dtype=None):
        return stock(as_bool(mask), mask.dtype if to_dtype is None else to_dtype)

    module._mask_for_xformers = _mask_for_xformers
