"""The encoder-decoder model ``transformer_posenc`` and its architectures, one for each encoding and size."""

from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerModel
from fairseq.models.transformer.transformer_legacy import (
    base_architecture,
    transformer_iwslt_de_en,
    transformer_wmt_en_de,
    transformer_wmt_en_de_big,
)

from fairseq_posenc.encodings import Stack, encoding_class, encoding_names
from fairseq_posenc.encodings.base import SEPARATE, SHARED
from fairseq_posenc.errors import InputError
from fairseq_posenc.models.checks import check_checkpoint, check_layers, check_stock_flags
from fairseq_posenc.models.decoder import Decoder
from fairseq_posenc.models.encoder import Encoder
from fairseq_posenc.models.options import add_encoding_flags, encoding_name, encoding_options, settle_options
from fairseq_posenc.models.stack import install_encodings

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
        known = ", ".join(encoding_names())
        parser.add_argument(
            "--position-encoding",
            type=encoding_name,
            metavar="NAME",
            help=f"positional encoding of encoder and decoder: {known} (default: sinusoidal)",
        )
        for side in ("encoder", "decoder"):
            parser.add_argument(
                f"--{side}-position-encoding",
                type=encoding_name,
                metavar="NAME",
                help=f"positional encoding of the {side} (default: that of --position-encoding)",
            )
        add_encoding_flags(parser)

    @classmethod
    def build_model(cls, args, task):
        base_architecture(args)
        settle_encodings(args)
        check_layers(args)
        model = super().build_model(args, task)
        encoder, decoder = model.encoder, model.decoder
        if shares_encoding(args):
            if encoder.embed_positions.stack.model_dim != decoder.embed_positions.stack.model_dim:
                raise InputError(
                    f"{args.encoder_position_encoding}: one module cannot serve --encoder-embed-dim "
                    f"{args.encoder_embed_dim} and --decoder-embed-dim {args.decoder_embed_dim}; make them equal or "
                    "give each side its own (see the encoding's flags)"
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
        return super().load_state_dict(state_dict, strict, model_cfg, args)


def settle_encodings(args):
    """Write both sides' encodings and all their options into ``args``. Raises InputError on bad values."""
    args.position_encoding = getattr(args, "position_encoding", None) or "sinusoidal"
    for side in ("encoder_position_encoding", "decoder_position_encoding"):
        setattr(args, side, encoding_class(getattr(args, side, None) or args.position_encoding).name)
    check_stock_flags(args)
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


def build_encodings(cfg, side, padding_idx):
    """The encodings of one side ("encoder" or "decoder"), one a layer (see install_encodings), as ``cfg`` says."""
    part = getattr(cfg, side)
    encoding = encoding_class(getattr(cfg, f"{side}_position_encoding"))
    options = encoding_options(cfg, encoding.name)
    max_positions = cfg.max_source_positions if side == "encoder" else cfg.max_target_positions
    causal = side == "decoder"
    stack = Stack(part.embed_dim, part.attention_heads, max_positions, causal, first_row=padding_idx + 1)
    first, later = encoding(stack, **options), part.layers - 1
    layers = encoding.layers(options)
    if layers == SEPARATE:
        return [first, *(encoding(stack, **options) for _ in range(later))]
    return [first] * (1 + later) if layers == SHARED else [first] + [None] * later


def register_architectures(name):
    """Register transformer_<encoding>_<size> for every size; ``-`` in the name is written ``_``."""
    encoding = encoding_class(name)

    for size, stock_architecture in SIZES.items():

        def architecture(args, size=size, stock_architecture=stock_architecture):
            args.position_encoding = getattr(args, "position_encoding", None) or name
            presets = encoding.size_defaults.get(size, {}) if args.position_encoding == name else {}
            for argument, value in presets.items():
                attribute = encoding.flags[argument].attribute
                if getattr(args, attribute, None) is None:
                    setattr(args, attribute, value)
            stock_architecture(args)

        register_model_architecture("transformer_posenc", f"transformer_{name.replace('-', '_')}_{size}")(architecture)


register_model_architecture("transformer_posenc", "transformer_posenc")(base_architecture)
for _name in encoding_names():
    register_architectures(_name)
