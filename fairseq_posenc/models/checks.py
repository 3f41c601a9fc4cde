"""Refuse what cannot work, in one line, before anything long starts."""

import math
from argparse import Namespace
from collections.abc import Mapping, Sequence

import torch
from torch import nn

from fairseq_posenc.attention.patterns import Pattern
from fairseq_posenc.encodings import PositionEncoding, encoding_class
from fairseq_posenc.encodings.base import CONSECUTIVE
from fairseq_posenc.errors import InputError

#: What must be 1 or more, of a side and of the model; a model need not have them all.
SIZES = ("embed_dim", "attention_heads", "layers", "ffn_embed_dim", "input_dim", "output_dim")
LENGTHS = ("max_source_positions", "max_target_positions", "tokens_per_sample")


def check_layers(args: Namespace, sides: Sequence[str]) -> None:
    """Sizes must be positive, heads divide the dimensions of their layers, and attention must be this package's."""
    for name in (*(f"{side}_{size}" for side in sides for size in SIZES), *LENGTHS):
        value = getattr(args, name, None)
        if value is not None and (not isinstance(value, int) or value < 1):
            raise InputError(f"--{name.replace('_', '-')} must be a whole number of at least 1, but is {value}")
    for side in sides:
        dim, heads = getattr(args, f"{side}_embed_dim"), getattr(args, f"{side}_attention_heads")
        if dim % heads:
            raise InputError(
                f"--{side}-embed-dim {dim} is not divisible by --{side}-attention-heads {heads}; choose a multiple"
            )
        if getattr(args, f"{side}_xformers_att_config", None):
            raise InputError(
                f"--{side}-xformers-att-config would replace the attention of --position-encoding; leave it out"
            )
    if getattr(args, "cross_self_attention", False):
        raise InputError("--cross-self-attention is not supported with --position-encoding; leave it out")
    if getattr(args, "base_layers", 0):
        raise InputError(
            f"--base-layers {args.base_layers}: BASE layers have no self-attention that could call the "
            "--position-encoding; leave it out"
        )


def check_tied(args: Namespace) -> None:
    """One table for the words that a language model reads and predicts needs one dimension for both."""
    tied = args.share_decoder_input_output_embed and not args.adaptive_softmax_cutoff
    if tied and args.decoder_input_dim != args.decoder_output_dim:
        raise InputError(
            f"--share-decoder-input-output-embed needs one dimension, but --decoder-input-dim is "
            f"{args.decoder_input_dim} and --decoder-output-dim {args.decoder_output_dim}; make them equal"
        )


def check_stock_flags(args: Namespace, sides: Sequence[str]) -> None:
    """fairseq's own flags for positions must not contradict ``--position-encoding``."""
    for side in sides:
        encoding = getattr(args, f"{side}_position_encoding")
        choice = f"--{side}-position-encoding" if len(sides) > 1 else "--position-encoding"
        for flag, meant in ((f"{side}_learned_pos", "learned"), ("no_token_positional_embeddings", "none")):
            if getattr(args, flag, False) and encoding != meant:
                raise InputError(
                    f"--{flag.replace('_', '-')} contradicts {choice} {encoding}; leave it out, or use {choice} {meant}"
                )


def check_sinks(pattern: Pattern, encoding: type[PositionEncoding]) -> None:
    """Sinks and a window are no consecutive keys; only biases and scores are computed for each run of them."""
    compares = encoding.counts_between or encoding.overrides("decay") or encoding.overrides("mix")
    if pattern.sinks and compares and encoding.numbers == CONSECUTIVE:
        raise InputError(
            f"--attention-pattern {pattern}: {encoding.name} compares consecutive keys alone; use window:W, or another "
            "encoding"
        )


def check_cache_size(args: Namespace) -> None:
    """A cache may only roll where nothing but the pattern and distances matter."""
    size, name = args.cache_size, args.position_encoding
    if size is None:
        return
    if size < 1:
        raise InputError(f"--cache-size must be at least 1, but is {size}")
    if args.attention_pattern != "full":
        raise InputError(
            f"--cache-size {size} contradicts --attention-pattern {args.attention_pattern}, which already bounds the "
            "cache; leave one of them out"
        )
    if not encoding_class(name).translation_invariant:
        raise InputError(
            f"--cache-size {size}: {name} gives tokens their absolute positions, which grow beyond those of training "
            "however many old tokens a cache drops; generate pieces anew instead, or train with "
            f"--attention-pattern window:{size} or an encoding of distances"
        )


def check_adaptive(args: Namespace, words: int) -> None:
    """Bands of adaptive embeddings must fit the dictionary of ``words`` entries, and each other where they are tied."""
    for flag in ("adaptive_input_cutoff", "adaptive_softmax_cutoff"):
        cutoffs = getattr(args, flag)
        if (flag == "adaptive_softmax_cutoff" or args.adaptive_input) and cutoffs:
            last = max(int(cutoff) for cutoff in cutoffs.split(","))
            if last > words:
                raise InputError(
                    f"--{flag.replace('_', '-')} {cutoffs} reaches beyond the dictionary's {words} entries; "
                    "give smaller numbers"
                )
    if args.adaptive_input and not args.adaptive_input_cutoff:
        raise InputError("--adaptive-input needs --adaptive-input-cutoff")
    if args.tie_adaptive_weights:
        if not args.adaptive_input:
            raise InputError("--tie-adaptive-weights needs --adaptive-input")
        for one, other in (
            ("adaptive_input_cutoff", "adaptive_softmax_cutoff"),
            ("adaptive_input_factor", "adaptive_softmax_factor"),
            ("decoder_input_dim", "decoder_output_dim"),
        ):
            values = getattr(args, one), getattr(args, other)
            if values[0] != values[1]:
                flags = (f"--{name.replace('_', '-')}" for name in (one, other))
                raise InputError(
                    f"--tie-adaptive-weights needs {' and '.join(flags)} to be equal, but they are {values[0]} and "
                    f"{values[1]}"
                )


def check_checkpoint(model: nn.Module, state_dict: dict[str, torch.Tensor]) -> None:
    """The vocabulary of a checkpoint must be that of the data, and all its numbers finite."""
    check_finite(state_dict)
    for side in ("encoder", "decoder"):
        saved = state_dict.get(f"{side}.embed_tokens.weight")
        if saved is None:  # a model without that side, or embeddings that are no one table
            continue
        rows = getattr(model, side).embed_tokens.num_embeddings
        if saved.size(0) != rows:
            raise InputError(
                f"the checkpoint's {side} vocabulary has {saved.size(0)} entries, but the dictionary of the data has "
                f"{rows}; use the data directory that the model was trained on"
            )


def check_finite(parameters: Mapping[str, torch.Tensor]) -> None:
    """Raise InputError where one of these tensors holds NaN or infinity, as a training that diverged leaves them."""
    for name, tensor in parameters.items():
        if name.endswith("._float_tensor"):
            continue  # of stock fairseq's sinusoids: memory that it never writes
        # A sum takes one pass and no memory; it may overflow where all numbers are finite.
        if tensor.is_floating_point() and not math.isfinite(tensor.sum()) and not tensor.isfinite().all():
            count = int((~tensor.isfinite()).sum())
            raise InputError(
                f"{count} of the {tensor.numel()} numbers of the parameter {name} are NaN or infinite; use an earlier "
                "checkpoint of the training"
            )
