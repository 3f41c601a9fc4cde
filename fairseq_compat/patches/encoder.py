"""The encoder's fused path for inference, and the version check that guards it."""

import functools
import re

from fairseq_compat.overlay import Overlay
from fairseq_compat.registry import patch


@patch(
    "no_encoder_fast_path",
    "fairseq.modules.transformer_layer",
    fault="generate, validate with padding: RuntimeError: Mask Type should be defined; self_attn is skipped",
    since="PyTorch 1.13",
)
def no_encoder_fast_path(module):
    """Let every encoder layer run its own attention. Parameters do not change, so checkpoints keep their keys."""
    layer = module.TransformerEncoderLayerBase
    stock = layer.__init__
    if "can_use_fastpath" not in stock.__code__.co_names:  # fairseq without the fast path
        return False

    @functools.wraps(stock)
    def __init__(self, *args, **options):
        stock(self, *args, **options)
        self.can_use_fastpath = False

    layer.__init__ = __init__
    return True


# Versions that fairseq can parse: it calls int() on the dot-separated parts before "+".
_READABLE = re.compile(r"\d+\.\d+\.\d+(\.\w+)?(\+.*)?")


def _version_is_unreadable(module):
    import torch

    return "fb" not in torch.__version__ and not _READABLE.fullmatch(str(torch.__version__))


@patch(
    "plain_torch_version",
    "fairseq.modules.transformer_layer",
    "fairseq.models.transformer.transformer_encoder",
    fault="building an encoder: ValueError: invalid literal for int() with base 10: '0a0'",
    since="PyTorch builds of vendors, such as 2.6.0a0+ecf3bae40a",
    needed=_version_is_unreadable,
)
def plain_torch_version(module):
    """Show these modules the version's three numbers."""
    numbers = re.match(r"\d+\.\d+\.\d+", str(module.torch.__version__)).group()
    module.torch = Overlay(module.torch, __version__=numbers)
