"""fairseq's Transformer layers around our attention."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from fairseq.distributed import fsdp_wrap
from fairseq.models.transformer import TransformerConfig
from fairseq.models.transformer.transformer_config import EncDecBaseConfig
from fairseq.modules import FairseqDropout, MultiheadAttention
from fairseq.modules.transformer_layer import TransformerDecoderLayerBase, TransformerEncoderLayerBase
from torch import nn
from torch.utils.checkpoint import checkpoint

from fairseq_posenc.attention.cross_attention import CrossAttention
from fairseq_posenc.attention.scales import attention_scale
from fairseq_posenc.attention.self_attention import SelfAttention

# fairseq 0.12.2 keeps a second, trainable copy of every weight in its encoder layer for a fused inference path.
COPIES = (
    "in_proj_weight",
    "in_proj_bias",
    "out_proj_weight",
    "out_proj_bias",
    "fc1_weight",
    "fc1_bias",
    "fc2_weight",
    "fc2_bias",
)


def name_dropouts(module: nn.Module, name: str) -> None:
    """Name the dropouts of ``module`` itself as fairseq's class ``name`` does, for ``--retain-dropout-modules``."""
    for child in module.children():
        if isinstance(child, FairseqDropout):
            child.module_name = name


class EncoderLayer(TransformerEncoderLayerBase):
    """Encoder layer without fairseq's fused inference path, which would silently skip our self-attention."""

    def __init__(self, cfg: TransformerConfig, return_fc: bool = False) -> None:
        super().__init__(cfg, return_fc)
        name_dropouts(self, TransformerEncoderLayerBase.__name__)
        self.can_use_fastpath = False
        for name in COPIES:
            self._parameters.pop(name, None)

    def build_self_attention(self, embed_dim: int, cfg: TransformerConfig) -> SelfAttention:
        return build_self_attention(embed_dim, cfg, cfg.encoder)

    def _load_from_state_dict(self, state_dict: dict[str, torch.Tensor], prefix: str, *args: Any) -> None:
        for name in COPIES:
            state_dict.pop(prefix + name, None)
        nn.Module._load_from_state_dict(self, state_dict, prefix, *args)


class DecoderLayer(TransformerDecoderLayerBase):
    """Decoder layer that computes attention weights only where it is asked for them, also in evaluation mode."""

    def __init__(self, cfg: TransformerConfig, no_encoder_attn: bool = False) -> None:
        super().__init__(cfg, no_encoder_attn)
        name_dropouts(self, TransformerDecoderLayerBase.__name__)
        self.need_attn = False

    def make_generation_fast_(self, **options: Any) -> None:
        """Nothing: fairseq's layer would return weights for ``--print-alignment``, whether it is asked or not."""

    def build_self_attention(
        self, embed_dim: int, cfg: TransformerConfig, add_bias_kv: bool = False, add_zero_attn: bool = False
    ) -> SelfAttention:
        return build_self_attention(embed_dim, cfg, cfg.decoder)

    def build_encoder_attention(self, embed_dim: int, cfg: TransformerConfig) -> CrossAttention:
        source_dim = cfg.encoder.embed_dim
        options = attention_options(cfg, cfg.decoder)
        attention = CrossAttention(embed_dim, kdim=source_dim, vdim=source_dim, **options)
        name_dropouts(attention, MultiheadAttention.__name__)
        return attention


def build_self_attention(embed_dim: int, cfg: TransformerConfig, side: EncDecBaseConfig) -> SelfAttention:
    """SelfAttention as ``cfg`` and its encoder or decoder part ``side`` say."""
    scale = attention_scale(getattr(cfg, "attention_scale", None))
    attention = SelfAttention(embed_dim, scale=scale, **attention_options(cfg, side))
    name_dropouts(attention, MultiheadAttention.__name__)
    return attention


def attention_options(cfg: TransformerConfig, side: EncDecBaseConfig) -> dict[str, Any]:
    """What self-attention and cross-attention of one side are built with."""
    return {
        "heads": side.attention_heads,
        "dropout": cfg.attention_dropout,
        "q_noise": cfg.quant_noise.pq,
        "qn_block_size": cfg.quant_noise.pq_block_size,
    }


def wrap_layer(layer: EncoderLayer | DecoderLayer, cfg: TransformerConfig) -> nn.Module:
    """Activation checkpointing and sharded data parallelism, as fairseq applies them to its own layers."""
    if cfg.checkpoint_activations:
        checkpoint_activations(layer, cfg.offload_activations)
    return fsdp_wrap(layer, min_num_params=0 if cfg.checkpoint_activations else cfg.min_params_to_wrap)


def checkpoint_activations(layer: EncoderLayer | DecoderLayer, offload: bool) -> None:
    """Make ``layer`` keep what it reads only, on the CPU if ``offload``, and compute the rest again when it is needed.

    fairseq's own wrapper runs the backward pass of every layer by itself. Parameters that layers share would then be
    ready several times in one backward pass, which distributed training refuses.
    """
    layer.self_attn.recomputed = True
    layer.precheckpoint_forward = layer.forward  # the name by which fairseq takes a wrapper off again
    # A partial call, unlike a function inside this one, belongs to the copy where a model is copied.
    layer.forward = partial(_checkpointed, layer.self_attn, layer.precheckpoint_forward, offload)


def _checkpointed(
    attention: SelfAttention, forward: Callable[..., Any], offload: bool, x: torch.Tensor, *args: Any, **options: Any
) -> Any:
    layers_pass, device = attention.layers_pass, x.device

    def compute(x: torch.Tensor, *args: Any, **options: Any) -> Any:
        # What layers share is built in the forward pass, and may be random.
        with attention.within(layers_pass):
            return forward(x.to(device), *args, **options)

    return checkpoint(compute, x.cpu() if offload else x, *args, use_reentrant=False, **options)
