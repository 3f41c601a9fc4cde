"""Sandwich: the inner product of two sinusoidal embeddings as a bias, and its smooth approximation."""

from typing import Annotated, Literal

import torch

from fairseq_posenc.encodings.base import Stack
from fairseq_posenc.encodings.limits import check_table
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.encodings.relative import RelativeBias, head_exponents
from fairseq_posenc.errors import InputError


@register_encoding("sandwich")
class Sandwich(RelativeBias):
    """``bias = (sum_i cos(distance / 10000^(2i/d)) - d/2) / h`` with h = 8n/H (Chi et al. 2023, Eq 6).

    d, here ``dim``, is not the head dimension but a constant of its own. The sum runs over d/2 terms: from i = 0 in
    the paper's listing, which agrees with the log curve that the paper fits (default), from i = 1 in its Eq 6.
    The cosine is even, so that the encoder form is symmetric. Angles are computed in fp64.

    Raises:
        InputError: ``dim`` is odd, below 2, or more than the memory holds.
    """

    summary = "inner product of sinusoids by distance, scaled by head"
    source = "Chi et al. 2023 (ACL), Eq 6"

    def __init__(
        self,
        stack: Stack,
        dim: Annotated[int, "d, twice the number of cosines that are summed"] = 128,
        index_base: Annotated[
            Literal["zero", "one"], "first index of the sum: zero (the paper's listing) or one (Eq 6)"
        ] = "zero",
    ) -> None:
        super().__init__(stack)
        if dim < 2 or dim % 2:
            raise InputError(f"--sandwich-dim must be even and at least 2, but is {dim}")
        check_table(f"--sandwich-dim {dim} at 1,000 distances", 1000, dim)
        index = torch.arange(dim // 2, dtype=torch.float64) + (index_base == "one")
        self.keep_exact("frequencies", 10000 ** (-2 * index / dim))
        self.keep_exact("scale", 1 / head_exponents(stack.heads))

    def by_distance(self, distances: torch.Tensor) -> torch.Tensor:
        frequencies, scale = (self.exact(name, distances.device) for name in ("frequencies", "scale"))
        angles = distances.unsqueeze(1) * frequencies
        return scale * (angles.cos().sum(1) - frequencies.numel()).float()

    def by_numbers(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        # A product of sinusoids, as the bias is derived: no cosine for a pair of tokens.
        frequencies, scale = (self.exact(name, q.device) for name in ("frequencies", "scale"))
        q_angles, k_angles = (x.unsqueeze(-1) * frequencies for x in (q, k))
        q_waves, k_waves = (torch.cat([x.cos(), x.sin()], dim=-1) for x in (q_angles, k_angles))
        products = q_waves @ k_waves.transpose(1, 2) - frequencies.numel()
        return scale.unsqueeze(1) * products.float().unsqueeze(1)


#: Slope and offset of the curve at h = 8, for d = 128.
FITS = {"all": (-0.825, -0.8), "recent": (-1.02, -0.02)}


@register_encoding("sandwich-smoothed")
class SandwichSmoothed(RelativeBias):
    """``bias = (a log(1 + distance) + b) 8/h`` with h = 8n/H: a log curve fitted to Sandwich (Chi et al. 2023,
    section 6.2).

    ``fit="all"``: a = -0.825, b = -0.8, the paper's. ``"recent"``: a = -1.02, b = -0.02, fitted to the 50 most recent
    tokens, as the paper's footnote suggests. The constant b makes no difference under softmax.
    """

    summary = "log curve fitted to Sandwich"
    source = "Chi et al. 2023 (ACL), section 6.2 and its footnote 7"

    def __init__(
        self,
        stack: Stack,
        fit: Annotated[
            Literal["all", "recent"],
            "curve fitted to all distances (the paper) or to the 50 nearest",
            "--sandwich-fit",
        ] = "all",
    ) -> None:
        super().__init__(stack)
        self.slope, self.offset = FITS[fit]
        self.keep_exact("scale", 8 / head_exponents(stack.heads))

    def by_distance(self, distances: torch.Tensor) -> torch.Tensor:
        return self.exact("scale", distances.device) * (self.slope * distances.abs().float().log1p() + self.offset)
