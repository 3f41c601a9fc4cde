"""The encoder-decoder model ``transformer_posenc`` and its architectures, one for each encoding and size."""

from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerModel
from fairseq.models.transformer.transformer_legacy import (
    base_architecture,
    transformer_iwslt_de_en,
    transformer_wmt_en_de,
    transformer_wmt_en_de_big,
)

from fairseq_posenc.encodings import encoding_class
from fairseq_posenc.errors import InputError
from fairseq_posenc.models.architectures import register_architectures
from fairseq_posenc.models.checks import check_checkpoint, check_layers, check_stock_flags
from fairseq_posenc.models.decoder import Decoder
from fairseq_posenc.models.encoder import Encoder
from fairseq_posenc.models.options import add_encoding_flags, encoding_options, plain_settings, settle_options
from fairseq_posenc.models.pruning import drop_encodings_of_pruned_layers, prune_encodings
from fairseq_posenc.models.stack import build_encodings, install_encodings

SIDES = ("encoder", "decoder")

SIZES = {
    "iwslt_de_en": transformer_iwslt_de_en,
    "wmt_en_de": transformer_wmt_en_de,
    "wmt_en_de_big": transformer_wmt_en_de_big,
}


@register_model("transformer_posenc")
class PositionEncodingTransformer(TransformerModel):
    """fairseq's Transformer with a choice of positional encodings.

    With ``--position-encoding sinusoidal`` or ``learned`` it is the stock model, weight for weight and output for
    output, less the unused copies of weights in the stock encoder.
    """

    @classmethod
    def hub_models(cls):
        return {}

    @classmethod
    def add_args(cls, parser):
        super().add_args(parser)
        add_encoding_flags(parser, sides=SIDES)

    @classmethod
    def build_model(cls, args, task):
        args = plain_settings(args)
        base_architecture(args)
        settle_encodings(args)
        check_layers(args, SIDES)
        drop_encodings_of_pruned_layers(args, SIDES)
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
        return model

    @classmethod
    def build_encoder(cls, cfg, src_dict, embed_tokens):
        return Encoder(cfg, src_dict, embed_tokens, build_encodings(cfg, "encoder", embed_tokens.padding_idx))

    @classmethod
    def build_decoder(cls, cfg, tgt_dict, embed_tokens):
        encodings = build_encodings(cfg, "decoder", embed_tokens.padding_idx)
        return Decoder(cfg, tgt_dict, embed_tokens, encodings, no_encoder_attn=cfg.no_cross_attention)

    def load_state_dict(self, state_dict, strict=True, model_cfg=None, args=None):
        check_checkpoint(self, state_dict)
        prune_encodings(self, state_dict, model_cfg or args, SIDES)
        return super().load_state_dict(state_dict, strict, model_cfg, args)


def settle_encodings(args):
    """Write both sides' encodings and all their options into ``args``. Raises InputError on bad values."""
    args.position_encoding = getattr(args, "position_encoding", None) or "sinusoidal"
    for side in ("encoder_position_encoding", "decoder_position_encoding"):
        setattr(args, side, encoding_class(getattr(args, side, None) or args.position_encoding).name)
    check_stock_flags(args, SIDES)
    if encoding_class(args.encoder_position_encoding).causal_only:
        raise InputError(
            f"{args.encoder_position_encoding} is causal only and cannot encode an encoder; "
            "choose another --encoder-position-encoding"
        )
    settle_options(args, {args.encoder_position_encoding, args.decoder_position_encoding})


def shares_encoding(args):
    """Whether encoder and decoder hold one and the same encoding."""
    name = args.encoder_position_encoding
    same = name == args.decoder_position_encoding
    return same and encoding_class(name).shared_by_encoder_and_decoder(encoding_options(args, name))


register_model_architecture("transformer_posenc", "transformer_posenc")(base_architecture)
register_architectures("transformer_posenc", "transformer", SIZES)
