"""ALiBi: a penalty that grows linearly with the distance."""

from typing import Annotated, Literal, Optional

import torch

from fairseq_posenc.encodings.base import Stack
from fairseq_posenc.encodings.limits import check_number
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.encodings.relative import RelativeBias, head_exponents
from fairseq_posenc.errors import InputError

#: Added to the scores of keys that a head of the split encoder must not see; softmax makes it exactly 0.
HIDDEN = -1e4

#: The largest exponent and shift of exponents, above and below 0: fp32 has room for such slopes at every distance.
MOST = 100


def authors_exponents(heads: int) -> torch.Tensor:
    """Minus log2 of the slopes in the authors' code, (H, 1) fp32.

    For a power of two: 8/H, 16/H, .. 8. Otherwise those of the next lower power of two, then every other one of those
    of the next higher.
    """
    lower = 1 << (heads.bit_length() - 1)
    return torch.cat([head_exponents(lower), head_exponents(2 * lower)[::2][: heads - lower]])


@register_encoding("alibi")
class ALiBi(RelativeBias):
    """``bias = -2^(-h) distance`` with one exponent h per head (Press et al. 2022; Chi et al. 2023, Eq 3).

    - ``slopes="authors"``: the authors' code, h = 8/H, 16/H, .. 8 where H is a power of two, and two interleaved such
      series otherwise. ``"geometric"``: h = 8n/H for any H, Eq 3 of Chi et al. They differ for H = 12.
    - ``shift``: Delta, added to every h (Chi et al. 2023, Table 1).
    - ``same_exponent``: one h for all heads (Chi et al. 2023, Table 1).

    The decoder looks back only. Press et al. define no encoder form; what users and the authors discuss is offered:
    ``"symmetric"`` (the absolute distance), ``"split"`` (heads 1, 3, .. look back, the others ahead) and ``"offset"``
    (symmetric, with 0.5 more for keys in the future, so that both directions differ).

    The authors' code adds slope x key column, which is the same under softmax.

    Raises:
        InputError: a number beyond MOST, same_exponent with slopes "geometric", or "split" with a single head.
    """

    summary = "linear penalty on the distance, one slope per head"
    source = "Press et al. 2022 (ICLR); variants of Chi et al. 2023 (ACL), Eq 3 and Table 1"

    def __init__(
        self,
        stack: Stack,
        slopes: Annotated[
            Literal["authors", "geometric"], "slopes by the authors' code, or 2^(-8n/H) for any number of heads"
        ] = "authors",
        shift: Annotated[float, "added to the exponent h of every slope 2^(-h)"] = 0.0,
        same_exponent: Annotated[Optional[float], "one exponent h for the slopes 2^(-h) of all heads"] = None,
        encoder: Annotated[
            Literal["symmetric", "split", "offset"],
            "in the encoder: absolute distance, half of the heads for each direction, or 0.5 more for the future",
        ] = "symmetric",
    ) -> None:
        super().__init__(stack)
        for flag, number in (("shift", shift), ("same-exponent", same_exponent)):
            if number is not None:
                check_number(f"--alibi-{flag}", number, -MOST, MOST)
        exponents = authors_exponents(stack.heads) if slopes == "authors" else head_exponents(stack.heads)
        if same_exponent is not None:
            if slopes != "authors":
                raise InputError(f"--alibi-same-exponent {same_exponent} contradicts --alibi-slopes {slopes}; give one")
            exponents = torch.full_like(exponents, same_exponent)
        if encoder == "split" and not stack.causal and stack.heads < 2:
            raise InputError("--alibi-encoder split needs at least 2 attention heads, but there is 1")
        self.encoder = encoder
        self.keep_exact("slopes", 2 ** -(exponents + shift))

    def by_distance(self, distances: torch.Tensor) -> torch.Tensor:
        steps, slopes = distances.abs().float(), self.exact("slopes", distances.device)
        if self.stack.causal or self.encoder == "symmetric":
            return -slopes * steps
        if self.encoder == "offset":
            return -slopes * (steps + 0.5 * (distances < 0))
        looks_back = torch.arange(self.stack.heads, device=distances.device).unsqueeze(1) % 2 == 0
        seen = torch.where(looks_back, distances >= 0, distances <= 0)
        return torch.where(seen, -slopes * steps, HIDDEN)
