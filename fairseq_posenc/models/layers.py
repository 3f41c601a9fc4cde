"""fairseq's Transformer layers around our self-attention."""

from fairseq.distributed import fsdp_wrap
from fairseq.modules import FairseqDropout, MultiheadAttention
from fairseq.modules.checkpoint_activations import checkpoint_wrapper
from fairseq.modules.transformer_layer import TransformerDecoderLayerBase, TransformerEncoderLayerBase
from torch import nn

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


def name_dropouts(module, name):
    """Name the dropouts of ``module`` itself as fairseq's class ``name`` does, for ``--retain-dropout-modules``."""
    for child in module.children():
        if isinstance(child, FairseqDropout):
            child.module_name = name


class EncoderLayer(TransformerEncoderLayerBase):
    """Encoder layer without fairseq's fused inference path, which would silently skip our self-attention."""

    def __init__(self, cfg, return_fc=False):
        super().__init__(cfg, return_fc)
        name_dropouts(self, TransformerEncoderLayerBase.__name__)
        self.can_use_fastpath = False
        for name in COPIES:
            self._parameters.pop(name, None)

    def build_self_attention(self, embed_dim, cfg):
        return build_self_attention(embed_dim, cfg, cfg.encoder)

    def _load_from_state_dict(self, state_dict, prefix, *args):
        for name in COPIES:
            state_dict.pop(prefix + name, None)
        nn.Module._load_from_state_dict(self, state_dict, prefix, *args)


class DecoderLayer(TransformerDecoderLayerBase):
    """Decoder layer; its cross-attention stays fairseq's own."""

    def __init__(self, cfg, no_encoder_attn=False):
        super().__init__(cfg, no_encoder_attn)
        name_dropouts(self, TransformerDecoderLayerBase.__name__)

    def build_self_attention(self, embed_dim, cfg, add_bias_kv=False, add_zero_attn=False):
        return build_self_attention(embed_dim, cfg, cfg.decoder)


def build_self_attention(embed_dim, cfg, side):
    """SelfAttention as ``cfg`` and its encoder or decoder part ``side`` say."""
    attention = SelfAttention(
        embed_dim,
        side.attention_heads,
        dropout=cfg.attention_dropout,
        q_noise=cfg.quant_noise.pq,
        qn_block_size=cfg.quant_noise.pq_block_size,
    )
    name_dropouts(attention, MultiheadAttention.__name__)
    return attention


def wrap_layer(layer, cfg):
    """Activation checkpointing and sharded data parallelism, as fairseq applies them to its own layers."""
    if cfg.checkpoint_activations:
        layer = checkpoint_wrapper(layer, offload_to_cpu=cfg.offload_activations)
    return fsdp_wrap(layer, min_num_params=0 if cfg.checkpoint_activations else cfg.min_params_to_wrap)
