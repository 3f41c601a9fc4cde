"""KERPLE: shift-invariant kernels as biases, with learned parameters."""

import torch
from torch import nn
from torch.nn import functional as F

from fairseq_posenc.encodings.base import Stack
from fairseq_posenc.encodings.options import LAYER, SIDE, Sharing
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.encodings.relative import RelativeBias

#: Starting values are kept this share of their range away from its ends.
MARGIN = 0.01


class Kerple(RelativeBias):
    """Two learned parameters per head, r1 > 0 and r2 > 0.

    At the start r1 and r2 are uniform between 0 and ``starts``, as in the authors' code, which then clamps the
    parameters in place at every step. Here they are functions of free parameters that cannot leave their ranges:
    softplus, or 2 sigmoid where 2 is the upper limit. In the encoder the distance is absolute.
    """

    source = "Chi et al. 2022 (NeurIPS), KERPLE; compared in Chi et al. 2023 (ACL), Table 3"
    sharing = Sharing(
        "layers", "all layers share their parameters (the authors' code), or not", {"shared": SIDE, "separate": LAYER}
    )
    #: The upper ends of r1 and r2 at the start.
    starts: tuple[float, float]

    def __init__(self, stack: Stack) -> None:
        super().__init__(stack)
        uniform = torch.rand(2, stack.heads, 1).clamp(MARGIN, 1 - MARGIN)
        r1, r2 = (end * numbers for end, numbers in zip(self.starts, uniform))
        self.free_r1 = nn.Parameter(inverse_softplus(r1))
        self.free_r2 = nn.Parameter(self.free(r2))

    @property
    def r1(self) -> torch.Tensor:
        """(H, 1) fp32, above 0."""
        return F.softplus(self.free_r1.float())

    @staticmethod
    def free(r2: torch.Tensor) -> torch.Tensor:
        """The free parameter that gives this r2."""
        raise NotImplementedError


def inverse_softplus(y: torch.Tensor) -> torch.Tensor:
    """x with log(1 + e^x) = y."""
    return y + torch.log(-torch.expm1(-y))


@register_encoding("kerple-log")
class KerpleLog(Kerple):
    """``bias = -r1 log(1 + r2 distance)``, two learned numbers per head (Chi et al. 2022, logarithmic variant).

    See Kerple for the range and start of r1 and r2.
    """

    summary = "logarithmic penalty with two learned numbers per head"
    starts = (2, 1)

    @staticmethod
    def free(r2: torch.Tensor) -> torch.Tensor:
        return inverse_softplus(r2)

    @property
    def r2(self) -> torch.Tensor:
        """(H, 1) fp32, above 0."""
        return F.softplus(self.free_r2.float())

    def by_distance(self, distances: torch.Tensor) -> torch.Tensor:
        return -self.r1 * torch.log1p(self.r2 * distances.abs())


@register_encoding("kerple-power")
class KerplePower(Kerple):
    """``bias = -r1 distance^r2`` with r2 < 2, two learned numbers per head (Chi et al. 2022, power variant).

    See Kerple for the range and start of r1 and r2.
    """

    summary = "power-law penalty with two learned numbers per head"
    starts = (1, 2)

    @staticmethod
    def free(r2: torch.Tensor) -> torch.Tensor:
        return torch.logit(r2 / 2)

    @property
    def r2(self) -> torch.Tensor:
        """(H, 1) fp32, between 0 and 2."""
        return 2 * torch.sigmoid(self.free_r2.float())

    def by_distance(self, distances: torch.Tensor) -> torch.Tensor:
        steps = distances.abs().float()
        # Not 0: its logarithm is a factor of the gradient, also where the result is not taken.
        powers = steps.clamp(min=torch.finfo(steps.dtype).tiny) ** self.r2
        return -self.r1 * torch.where(steps > 0, powers, 0)
