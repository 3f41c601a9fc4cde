"""T5's relative bias: a learned number per head for each bucket of distances."""

import math
from typing import Annotated, Literal

import torch
from torch import nn

from fairseq_posenc.encodings.base import WHOLE, Stack
from fairseq_posenc.encodings.limits import check_table
from fairseq_posenc.encodings.options import LAYER, SIDE, Sharing
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.encodings.relative import RelativeBias
from fairseq_posenc.errors import InputError


def bucket_of(steps: torch.Tensor, buckets: int, max_distance: int) -> torch.Tensor:
    """The bucket of each step count (int64, not negative), out of ``buckets``.

    The first half of the buckets holds one distance each; the others grow in equal logarithmic steps up to
    ``max_distance``, and the last one holds everything beyond.
    """
    exact = buckets // 2
    growth = torch.log(steps.clamp(min=1).double() / exact) / math.log(max_distance / exact)
    # Powers that are whole numbers begin a bucket: the small number keeps rounding from moving them back.
    wide = exact + (growth * (buckets - exact) + 1e-9).long()
    return torch.where(steps < exact, steps, wide.clamp(max=buckets - 1))


@register_encoding("t5")
class T5(RelativeBias):
    """``bias = W[bucket(distance), head]`` (Raffel et al. 2020, section 2.1).

    In the decoder all buckets are for the past; in the encoder half of them are for keys in the future. Encoder and
    decoder have tables of their own; within each, all layers share one.

    W (buckets, H) starts Xavier-uniform, as in the authors' code (and in T5X; GPT-NeoX, in which the Sandwich paper's
    models were trained, has Xavier-normal). Hugging Face's T5 starts much lower, with a standard deviation of
    1/sqrt(C).

    T5 has no 1/sqrt(D) in its attention. Here, as in every model of this project, the scores keep it, and the bias is
    added after it. ``scale="sqrt-dim"`` multiplies the table by sqrt(D), as GPT-NeoX does and so the code of the KERPLE
    and Sandwich papers, which do not mention it: under Adam the bias then learns sqrt(D) times as fast.

    Raises:
        InputError: too few buckets, more than the memory holds, an odd number in the encoder, or a maximal distance
            within the exact buckets.
    """

    summary = "learned number per head for each bucket of distances"
    source = "Raffel et al. 2020 (JMLR), section 2.1"
    numbers = WHOLE

    sharing = Sharing("layers", "all layers share a table (as in T5), or not", {"shared": SIDE, "separate": LAYER})

    def __init__(
        self,
        stack: Stack,
        buckets: Annotated[int, "number of buckets, both directions together"] = 32,
        max_distance: Annotated[int, "all distances from this one on share the last bucket"] = 128,
        scale: Annotated[
            Literal["none", "sqrt-dim"],
            "what multiplies the table: nothing (as in T5), or the root of the head dimension (as in GPT-NeoX)",
        ] = "none",
    ) -> None:
        super().__init__(stack)
        directions = 1 if stack.causal else 2
        self.buckets = buckets // directions
        if buckets % directions or self.buckets < 2:
            raise InputError(f"--t5-buckets must be even and at least 4, but is {buckets}")
        if max_distance <= self.buckets // 2:
            raise InputError(
                f"--t5-max-distance {max_distance} is not beyond the {self.buckets // 2} distances that have a bucket "
                "of their own; give a larger value"
            )
        check_table(f"--t5-buckets {buckets}", buckets, stack.heads)
        self.max_distance = max_distance
        self.factor = math.sqrt(stack.model_dim / stack.heads) if scale == "sqrt-dim" else 1.0
        self.weight = nn.Parameter(torch.empty(buckets, stack.heads))
        nn.init.xavier_uniform_(self.weight)

    def by_distance(self, distances: torch.Tensor) -> torch.Tensor:
        past = bucket_of(distances.clamp(min=0), self.buckets, self.max_distance)
        if not self.stack.causal:
            future = self.buckets + bucket_of((-distances).clamp(min=0), self.buckets, self.max_distance)
            past = torch.where(distances < 0, future, past)
        return (self.factor * self.weight.float())[past].transpose(0, 1)
