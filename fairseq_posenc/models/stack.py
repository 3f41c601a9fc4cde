"""What the encoder and the decoder do alike with their encoding."""

import copy
from collections.abc import Sequence
from typing import NoReturn

import torch
from fairseq.models.transformer import TransformerConfig, TransformerDecoderBase, TransformerEncoderBase
from torch import nn

from fairseq_posenc.attention.self_attention import SelfAttention
from fairseq_posenc.encodings import PositionEncoding, Stack, encoding_class
from fairseq_posenc.encodings.distances import Distance
from fairseq_posenc.encodings.numbering import Numbering
from fairseq_posenc.encodings.options import FIRST, LAYER
from fairseq_posenc.encodings.sinusoidal import Sinusoidal
from fairseq_posenc.errors import InputError
from fairseq_posenc.models.options import constructor_options, encoding_scope


def without_stock_positions(cfg: TransformerConfig) -> TransformerConfig:
    """A copy of ``cfg`` for fairseq's constructors, which then build no position embeddings of their own."""
    cfg = copy.copy(cfg)
    cfg.no_token_positional_embeddings = True
    return cfg


def build_encodings(cfg: TransformerConfig, side: str, padding_idx: int) -> list[PositionEncoding | None]:
    """The encodings of one side ("encoder" or "decoder"), one a layer (see install_encodings), as ``cfg`` says."""
    part = getattr(cfg, side)
    encoding = encoding_class(getattr(cfg, f"{side}_position_encoding"))
    options = constructor_options(cfg, encoding.name)
    max_positions = cfg.max_source_positions if side == "encoder" else cfg.max_target_positions
    causal = side == "decoder"
    stack = Stack(part.embed_dim, part.attention_heads, max_positions, causal, first_row=padding_idx + 1)
    first, later = encoding(stack, **options), part.layers - 1
    scope = encoding_scope(cfg, encoding.name)
    if scope == LAYER:
        others = [encoding(stack, **options) for _ in range(later)]
        for other in others:
            other.share(first)
        return [first, *others]
    return [first] + later * ([None] if scope == FIRST else [first])


def install_encodings(
    stack: TransformerEncoderBase | TransformerDecoderBase, encodings: Sequence[PositionEncoding | None]
) -> None:
    """Give an encoder or decoder its encodings, one a layer: each layer's self-attention gets its own where it acts.

    ``encodings`` holds the same object where layers share it, and None for layers without. The first one also acts on
    the embeddings.
    """
    stack.embed_positions = encodings[0]
    stack.later_positions = nn.ModuleList(e for e in encodings[1:] if e is not None and e is not encodings[0])
    for attention, encoding in zip(self_attentions(stack), encodings):
        attention.attach(encoding if encoding is not None and encoding.acts_on_attention() else None)


def self_attentions(stack: TransformerEncoderBase | TransformerDecoderBase) -> list[SelfAttention]:
    """The self-attention of every layer, in order."""
    # Not by iteration over the layers: with layerdrop that leaves out some at random.
    return [layer.self_attn for layer in stack.layers.children()]


def drop_stock_tables(state_dict: dict[str, torch.Tensor], name: str, encoding: PositionEncoding) -> None:
    """Remove the sinusoid buffers that stock checkpoints hold: ours computes its table.

    They stay in the way of every other encoding on purpose: a model trained with sinusoids must not load as one.
    """
    if isinstance(encoding, Sinusoidal):
        for buffer in ("_float_tensor", "weights"):
            state_dict.pop(f"{name}.embed_positions.{buffer}", None)


def refuse_scripting() -> NoReturn:
    """What torch.jit.script asks of a module first; its compiler would end in many lines."""
    raise InputError(
        "models with --position-encoding cannot be compiled by TorchScript, which PyTorch has deprecated; use "
        "torch.export.export, as docs/compatibility.md shows"
    )


def use_distance(stack: TransformerEncoderBase | TransformerDecoderBase, distance: Distance | None) -> None:
    """Put these in the place of distances in an encoder or decoder; None: nothing.

    Raises InputError where its encodings have no distances.
    """
    for encoding in (stack.embed_positions, *stack.later_positions):
        if distance is not None:
            distance.check(encoding)
        encoding.distance = distance


def use_numbering(stack: TransformerEncoderBase | TransformerDecoderBase, numbering: Numbering) -> None:
    """Number the positions of an encoder or decoder in this way from now on.

    Raises InputError where its encodings do not take such numbers.
    """
    numbering.check(stack.embed_positions)
    stack.numbering = numbering


def renumbers(stack: TransformerEncoderBase | TransformerDecoderBase, stepwise: bool = False) -> bool:
    """Whether the tokens of the next pass have other numbers than 0, 1, 2, ..; ``stepwise`` passes are no training."""
    return stack.numbering.acts(stack.embed_positions, stack.training and not stepwise)


def max_positions(stock_limit: int, encoding: PositionEncoding, numbering: Numbering) -> int:
    """The longest sentence: fairseq's limit, or that of the encoding with its numbering where it is shorter."""
    limit = numbering.longest(encoding.max_positions)
    return stock_limit if limit is None else min(stock_limit, limit)
