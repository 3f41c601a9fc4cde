"""The encoder-decoder model ``transformer_posenc`` and its architectures, one for each encoding and size."""

import dataclasses
from argparse import ArgumentParser, Namespace
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.models import register_model
from fairseq.models.transformer import TransformerConfig, TransformerModel
from fairseq.models.transformer.transformer_legacy import (
    base_architecture,
    transformer_iwslt_de_en,
    transformer_wmt_en_de,
    transformer_wmt_en_de_big,
)
from torch import nn

from fairseq_posenc.encodings import encoding_class
from fairseq_posenc.encodings.options import MODEL
from fairseq_posenc.errors import InputError
from fairseq_posenc.linear import use_faster_products
from fairseq_posenc.models.alignment import add_alignment_flags, settle_alignment
from fairseq_posenc.models.architectures import register_architectures
from fairseq_posenc.models.checks import check_checkpoint, check_layers, check_stock_flags
from fairseq_posenc.models.configuration import configuration, given_settings, record_settings
from fairseq_posenc.models.decoder import Decoder
from fairseq_posenc.models.encoder import Encoder
from fairseq_posenc.models.finetuning import Origin, load
from fairseq_posenc.models.options import (
    add_encoding_flags,
    encoding_scope,
    settle_distance,
    settle_numbering,
    settle_options,
    settle_scale,
)
from fairseq_posenc.models.packed import pack_linear_layers
from fairseq_posenc.models.pruning import drop_encodings_of_pruned_layers, prune_encodings
from fairseq_posenc.models.stack import build_encodings, install_encodings, use_distance, use_numbering

SIDES = ("encoder", "decoder")
#: Settings that task and model have in common.
OF_TASK = ("max_source_positions", "max_target_positions")

SIZES = {
    "iwslt_de_en": transformer_iwslt_de_en,
    "wmt_en_de": transformer_wmt_en_de,
    "wmt_en_de_big": transformer_wmt_en_de_big,
}


def add_flags(parser: ArgumentParser) -> None:
    """All flags of the model."""
    TransformerModel.add_args(parser)
    add_encoding_flags(parser, sides=SIDES)
    add_alignment_flags(parser)


TransformerPosencConfig = configuration("transformer_posenc", add_flags, OF_TASK)


@register_model("transformer_posenc", dataclass=TransformerPosencConfig)
class PositionEncodingTransformer(TransformerModel):
    """fairseq's Transformer with a choice of positional encodings.

    With ``--position-encoding sinusoidal`` or ``learned`` it is the stock model, weight for weight and output for
    output, without the unused copies of weights in the stock encoder.

    With ``--alignment-layer``, ``--alignment-heads`` and ``--full-context-alignment`` it is trained on alignments as
    stock fairseq's ``transformer_align`` (Garg et al. 2019).
    """

    #: Where ``--finetune-from-model`` loads a checkpoint: which one.
    origin: Origin | None = None

    def __init__(self, args: TransformerConfig, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__(args, encoder, decoder)
        self.alignment_layer, self.alignment_heads = args.alignment_layer, args.alignment_heads
        self.full_context_alignment = args.full_context_alignment

    @classmethod
    def hub_models(cls) -> dict[str, Any]:
        return {}

    @classmethod
    def add_args(cls, parser: ArgumentParser) -> None:
        add_flags(parser)

    @classmethod
    def build_model(cls, args: Any, task: Any) -> "PositionEncodingTransformer":
        config, args = args, given_settings(args)
        base_architecture(args)
        settle_stock_flags(args)
        settle_encodings(args)
        numbering = settle_numbering(args)
        distance = settle_distance(args)
        settle_scale(args)
        check_layers(args, SIDES)
        settle_alignment(args)
        drop_encodings_of_pruned_layers(args, SIDES)
        record_settings(config, args)
        model = super().build_model(args, task)
        encoder, decoder = model.encoder, model.decoder
        if shares_encoding(args):
            shapes = [[p.shape for p in side.embed_positions.parameters()] for side in (encoder, decoder)]
            if shapes[0] != shapes[1]:
                raise InputError(
                    f"{args.encoder_position_encoding}: one module cannot serve an encoder with --encoder-embed-dim "
                    f"{args.encoder_embed_dim} --encoder-attention-heads {args.encoder_attention_heads} and a decoder "
                    f"with --decoder-embed-dim {args.decoder_embed_dim} --decoder-attention-heads "
                    f"{args.decoder_attention_heads}; make them equal or give each side its own (see its flags)"
                )
            install_encodings(decoder, [encoder.embed_positions] * decoder.num_layers)
        for side in (encoder, decoder):
            use_numbering(side, numbering)
            use_distance(side, distance)
        use_faster_products(model)
        return model

    @classmethod
    def build_encoder(cls, cfg: TransformerConfig, src_dict: Dictionary, embed_tokens: nn.Embedding) -> Encoder:
        return Encoder(cfg, src_dict, embed_tokens, build_encodings(cfg, "encoder", src_dict.pad()))

    @classmethod
    def build_decoder(cls, cfg: TransformerConfig, tgt_dict: Dictionary, embed_tokens: nn.Embedding) -> Decoder:
        encodings = build_encodings(cfg, "decoder", tgt_dict.pad())
        return Decoder(cfg, tgt_dict, embed_tokens, encodings, no_encoder_attn=cfg.no_cross_attention)

    def forward(
        self,
        src_tokens: torch.Tensor,
        src_lengths: torch.Tensor | None,
        prev_output_tokens: torch.Tensor,
        return_all_hiddens: bool = True,
        features_only: bool = False,
        alignment_layer: int | None = None,
        alignment_heads: int | None = None,
    ) -> tuple[torch.Tensor, dict[str, list[Any]]]:
        """Logits (B, T, V), or features (B, T, C), and a dictionary with the attention over the source (see Decoder).

        ``alignment_layer`` and ``alignment_heads`` go before those of the flags.
        """
        encoder_out = self.encoder(src_tokens, src_lengths=src_lengths, return_all_hiddens=return_all_hiddens)
        which = {
            "alignment_layer": self.alignment_layer if alignment_layer is None else alignment_layer,
            "alignment_heads": self.alignment_heads if alignment_heads is None else alignment_heads,
        }
        x, extra = self.decoder(
            prev_output_tokens,
            encoder_out=encoder_out,
            features_only=features_only,
            src_lengths=src_lengths,
            return_all_hiddens=return_all_hiddens,
            **which,
        )
        if self.full_context_alignment:
            _, aligned = self.decoder(
                prev_output_tokens, encoder_out, features_only=True, full_context_alignment=True, **which
            )
            extra["attn"] = aligned["attn"]
        return x, extra

    def prepare_for_inference_(self, cfg: Any) -> None:
        super().prepare_for_inference_(cfg)
        pack_linear_layers(self)

    def load_state_dict(
        self,
        state_dict: dict[str, torch.Tensor],
        strict: bool = True,
        model_cfg: Any = None,
        args: Namespace | None = None,
    ) -> Any:
        check_checkpoint(self, state_dict)
        prune_encodings(self, state_dict, model_cfg or args, SIDES)
        stock = super().load_state_dict
        return load(self, state_dict, SIDES, lambda: stock(state_dict, strict, model_cfg, args))


def settle_stock_flags(args: Namespace) -> None:
    """Write fairseq's default of every flag that neither the command line nor the architecture has set."""
    stock = TransformerConfig()
    for field in dataclasses.fields(TransformerPosencConfig):
        if not hasattr(args, field.name) and hasattr(stock, field.name):
            setattr(args, field.name, getattr(stock, field.name))


def settle_encodings(args: Namespace) -> None:
    """Write both sides' encodings and all their options into ``args``. Raises InputError on bad values."""
    args.position_encoding = getattr(args, "position_encoding", None) or "sinusoidal"
    for side in ("encoder_position_encoding", "decoder_position_encoding"):
        setattr(args, side, encoding_class(getattr(args, side, None) or args.position_encoding).name)
    check_stock_flags(args, SIDES)
    settle_options(args, {args.encoder_position_encoding, args.decoder_position_encoding})


def shares_encoding(args: Namespace) -> bool:
    """Whether encoder and decoder hold one and the same encoding."""
    name = args.encoder_position_encoding
    return name == args.decoder_position_encoding and encoding_scope(args, name) == MODEL


register_architectures("transformer_posenc", "transformer", SIZES)
