"""Encodings in CTranslate2's format."""

from typing import Any

import numpy as np
import torch
from ctranslate2.specs import RotaryScalingType

from fairseq_posenc.encodings.alibi import ALiBi, authors_exponents
from fairseq_posenc.encodings.base import PositionEncoding
from fairseq_posenc.encodings.positions import Positions
from fairseq_posenc.encodings.rope import RoPE
from fairseq_posenc.encodings.shaw import Shaw
from fairseq_posenc.encodings.t5 import T5, bucket_of
from fairseq_posenc.export.checkpoint import Trained
from fairseq_posenc.export.refusals import refuse
from fairseq_posenc.export.rotary import rotary_of
from fairseq_posenc.models.stack import self_attentions

NAME = "CTranslate2"

#: What is added to embeddings is written as a table.
ADDED = ("sinusoidal", "learned", "none")


def options_of(trained: Trained, side: str) -> dict[str, Any]:
    """What CTranslate2's specification of an encoder or decoder is built with for the encoding of a side.

    Raises InputError for an encoding, or an option of one, that it does not know.
    """
    stack = trained.stacks[side]
    encoding = stack.embed_positions
    if encoding.name in ADDED:
        return {}
    if isinstance(encoding, Shaw):
        return {"relative_position": True}
    if isinstance(encoding, T5):
        if not trained.translates:
            raise refuse(
                trained, NAME, "right t5 bias for the tokens of a prompt, which its language models read at once"
            )
        if any(attention.position_encoding is not encoding for attention in self_attentions(stack)):
            raise refuse(trained, NAME, "--t5-layers separate: its layers share one table")
        check_buckets(trained, encoding)
        return {"relative_attention_bias": True}
    if isinstance(encoding, RoPE):
        return rotary_options(trained, encoding)
    if isinstance(encoding, ALiBi):
        check_alibi(trained, encoding)
        return {"alibi": True}
    raise refuse(trained, NAME, f"encoding {encoding.name}")


def set_positions(spec: Any, stack: Any) -> None:
    """Write the tables of a stack's encoding into the specification of its side."""
    encoding = stack.embed_positions
    if encoding.name in ADDED:
        spec.position_encodings.encodings = added(encoding, stack.max_positions())
    for layer, attention in zip(spec.layer, self_attentions(stack)):
        encoding, part = attention.position_encoding, layer.self_attention
        if isinstance(encoding, Shaw):
            part.relative_position_keys = both_directions(encoding, encoding.keys)
            part.relative_position_values = both_directions(encoding, encoding.vectors)
        elif isinstance(encoding, T5):
            part.relative_attention_bias = (encoding.factor * encoding.weight).numpy()
            part.relative_attention_max_distance = np.int32(encoding.max_distance)


def added(encoding: PositionEncoding, rows: int) -> np.ndarray:
    """(rows, C): what an encoding adds to the embeddings at positions 0, 1, 2, .."""
    nothing = torch.zeros(1, rows, encoding.stack.model_dim)
    return encoding.embed(nothing, Positions.consecutive(0, rows, nothing.device))[0].numpy()


def both_directions(encoding: Shaw, table: torch.Tensor) -> np.ndarray:
    """(2 clip + 1, D): a table of vectors by distance, with rows for the future that a decoder never reads."""
    return torch.nn.functional.pad(table, (0, 0, 0, 2 * encoding.clip + 1 - len(table))).numpy()


def rotary_options(trained: Trained, encoding: RoPE) -> dict[str, Any]:
    """RoPE in the pairs of neighbouring dimensions."""
    rotary = rotary_of(trained, encoding, NAME)
    options = {"rotary_dim": rotary.dim, "rotary_interleave": True, "rotary_base": rotary.base}
    if rotary.divisor != 1:
        options |= {"rotary_scaling_type": RotaryScalingType.Linear, "rotary_scaling_factor": rotary.divisor}
    return options


def check_alibi(trained: Trained, encoding: ALiBi) -> None:
    """ALiBi in its decoder, with the slopes of the authors' code."""
    if not encoding.stack.causal:
        raise refuse(trained, NAME, "alibi in its encoder")
    slopes = encoding.exact("slopes", torch.device("cpu"))
    if not torch.equal(slopes, 2 ** -authors_exponents(encoding.stack.heads)):
        raise refuse(trained, NAME, "slopes for alibi but those of the authors' code")


def check_buckets(trained: Trained, encoding: T5) -> None:
    """Its buckets, computed in fp32, must be ours at every distance."""
    exact, wide = encoding.buckets // 2, encoding.buckets - encoding.buckets // 2
    distances = torch.arange(exact, 2 * encoding.max_distance)
    ratio = np.log(np.float32(encoding.max_distance) / np.float32(exact), dtype=np.float32)
    steps = np.log(distances.float().numpy() / np.float32(exact)) / ratio * np.float32(wide)
    theirs = np.minimum((np.float32(exact) + steps).astype(np.int64), encoding.buckets - 1)
    differ = distances[torch.from_numpy(theirs) != bucket_of(distances, encoding.buckets, encoding.max_distance)]
    if len(differ):
        raise refuse(
            trained,
            NAME,
            f"--t5-buckets with --t5-max-distance {encoding.max_distance}: it rounds distance {int(differ[0])} into "
            "another bucket",
        )
