"""The settings of alignments, as fairseq's transformer_align has them."""

from argparse import ArgumentParser, Namespace

from fairseq_posenc.errors import InputError


def add_alignment_flags(parser: ArgumentParser) -> None:
    """The flags of fairseq's transformer_align."""
    parser.add_argument(
        "--alignment-layer",
        type=int,
        metavar="N",
        help="decoder layer whose attention over the source is trained on alignments, from 0 (default: the last)",
    )
    parser.add_argument(
        "--alignment-heads",
        type=int,
        metavar="N",
        help="how many of its heads, the first ones, are averaged to the alignment (default: all)",
    )
    parser.add_argument(
        "--full-context-alignment",
        action="store_true",
        default=None,
        help="take the alignment from a second pass of the decoder, which sees the whole target",
    )


def settle_alignment(args: Namespace) -> None:
    """Write the settings of alignments into ``args``. Raises InputError for layers or heads that are not there."""
    for name in ("alignment_layer", "alignment_heads", "full_context_alignment"):
        setattr(args, name, getattr(args, name, None))
    args.full_context_alignment = bool(args.full_context_alignment)
    for flag, first, last in (
        ("alignment_layer", 0, args.decoder_layers - 1),
        ("alignment_heads", 1, args.decoder_attention_heads),
    ):
        value = getattr(args, flag)
        if value is not None and not first <= value <= last:
            raise InputError(
                f"--{flag.replace('_', '-')} {value} must be from {first} to {last}, as the decoder has "
                f"{args.decoder_layers} layers of {args.decoder_attention_heads} heads"
            )
