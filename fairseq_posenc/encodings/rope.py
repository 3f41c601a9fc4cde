"""RoPE: queries and keys turned by their positions."""

from typing import Annotated

import torch

from fairseq_posenc.encodings.base import ANY, PositionEncoding, Stack
from fairseq_posenc.encodings.limits import check_number
from fairseq_posenc.encodings.positions import Idx
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.encodings.rotation import BASES, Rotation
from fairseq_posenc.errors import InputError


@register_encoding("rope")
class RoPE(PositionEncoding):
    """``score = (R_i q_i) (R_j k_j)``, R_n a rotation by n base^(-2i/D) in the plane of dimensions 2i and 2i + 1
    (Su et al. 2021, Eq 14-16), so that the score depends on i - j.

    ``fraction`` of the dimensions of a head, the first ones, are turned, the others keep no position.

    Raises:
        InputError: the dimensions to turn do not pair up, or ``base`` is not within BASES.
    """

    summary = "rotation of queries and keys by their positions"
    source = "Su et al. 2021 (RoFormer), Eq 14-16"
    translation_invariant = True
    numbers = ANY

    def __init__(
        self,
        stack: Stack,
        base: Annotated[float, "base of the geometric series of frequencies"] = 10000.0,
        fraction: Annotated[float, "share of the dimensions of a head that are turned"] = 1.0,
    ) -> None:
        super().__init__(stack)
        check_number("--rope-base", base, *BASES)
        head_dim = stack.model_dim // stack.heads
        dim = fraction * head_dim
        if not 0 < fraction <= 1 or dim % 2:
            raise InputError(
                f"--rope-fraction {fraction} of the head dimension {head_dim} is {dim:g}, which does not split into "
                "pairs; choose a fraction or a number of heads that makes it even"
            )
        self.rotation = Rotation(int(dim), base)

    def rotate(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> tuple[torch.Tensor, torch.Tensor]:
        return self.rotation(q, q_idx), self.rotation(k, kv_idx)
