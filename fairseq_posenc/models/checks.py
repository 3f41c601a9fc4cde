"""Refuse what cannot work, in one line, before anything long starts."""

from fairseq_posenc.errors import InputError


def check_layers(args):
    """Heads must divide the dimensions of their layers, and attention must be this package's."""
    for side in ("encoder", "decoder"):
        dim, heads = getattr(args, f"{side}_embed_dim"), getattr(args, f"{side}_attention_heads")
        if dim % heads:
            raise InputError(
                f"--{side}-embed-dim {dim} is not divisible by --{side}-attention-heads {heads}; choose a multiple"
            )
        if getattr(args, f"{side}_xformers_att_config", None):
            raise InputError(
                f"--{side}-xformers-att-config would replace the attention of --position-encoding; leave it out"
            )
    if args.cross_self_attention:
        raise InputError("--cross-self-attention is not supported with --position-encoding; leave it out")


def check_stock_flags(args):
    """fairseq's own flags for positions must not contradict ``--position-encoding``."""
    for side in ("encoder", "decoder"):
        encoding = getattr(args, f"{side}_position_encoding")
        for flag, meant in ((f"{side}_learned_pos", "learned"), ("no_token_positional_embeddings", "none")):
            if getattr(args, flag, False) and encoding != meant:
                raise InputError(
                    f"--{flag.replace('_', '-')} contradicts --{side}-position-encoding {encoding}; "
                    f"leave it out, or use --{side}-position-encoding {meant}"
                )


def check_checkpoint(model, state_dict):
    """The vocabulary of a checkpoint must be that of the data."""
    for side in ("encoder", "decoder"):
        saved = state_dict.get(f"{side}.embed_tokens.weight")
        rows = getattr(model, side).embed_tokens.num_embeddings
        if saved is not None and saved.size(0) != rows:
            raise InputError(
                f"the checkpoint's {side} vocabulary has {saved.size(0)} entries, but the dictionary of the data has "
                f"{rows}; use the data directory that the model was trained on"
            )
