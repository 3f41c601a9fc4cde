"""``--attention-scale``: a factor for each query of self-attention, beside 1/sqrt(D), against a softmax of more keys.

The more keys a query sees, the flatter its softmax. The factor multiplies products of queries and keys, not what is
added to them, and so works with every encoding and pattern. Cross-attention has none.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from fairseq_posenc.encodings.limits import check_number
from fairseq_posenc.names import Choices


class Scale:
    """One choice of factors."""

    #: How users write it, and what it means.
    form: ClassVar[str]
    help: ClassVar[str]
    #: Whether its number is whole.
    whole: ClassVar[bool] = False
    #: Whether the factor depends on how many keys a query sees.
    counts: ClassVar[bool] = False

    def parameter(self, heads: int) -> nn.Parameter | None:
        """What a layer learns for it, (H,), or None."""
        return None

    def factor(self, count: torch.Tensor | None, learned: torch.Tensor | None) -> torch.Tensor | float:
        """What queries are multiplied by: a number, or (B, H, T, 1) in fp32, or what broadcasts to it.

        Args:
            count: (B, 1, T, 1), or what broadcasts to it: how many keys each query sees; None unless ``counts``.
            learned: ``parameter``.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class LogN(Scale):
    """``log-n:L``: max(1, ln n / ln L) for a query that sees n keys (after Chiang & Cholak 2022, section 5.3).

    Up to L keys, the length of training, nothing changes: it can be switched on for a model that was trained without.
    Chiang and Cholak multiply by ln n at every length, which is what ``ssmax`` learns a factor for.
    """

    length: int
    form = "log-n:L"
    whole = True
    help = "max(1, ln n / ln L), with n keys that a query sees and L of them in training"
    counts = True

    def __post_init__(self) -> None:
        check_number(f"--attention-scale {self}: L", self.length, 2, 1e9)

    def factor(self, count: torch.Tensor | None, learned: torch.Tensor | None) -> torch.Tensor:
        assert count is not None
        return (count.clamp(min=self.length).float().log() / math.log(self.length)).clamp(min=1)

    def __str__(self) -> str:
        return f"log-n:{self.length}"


@dataclass(frozen=True)
class SSMax(Scale):
    """``ssmax:S``: s ln n, with s learned for each head of each layer from S on (Nakanishi 2025, Scalable-Softmax).

    S = 0.43 where it is not given.
    """

    start: float = 0.43
    form = "ssmax[:S]"
    help = "s ln n, with s learned for each head of each layer, starting at S, by default 0.43"
    counts = True

    def __post_init__(self) -> None:
        check_number(f"--attention-scale {self}: S", self.start, 1e-3, 100)

    def parameter(self, heads: int) -> nn.Parameter:
        return nn.Parameter(torch.full((heads,), self.start))

    def factor(self, count: torch.Tensor | None, learned: torch.Tensor | None) -> torch.Tensor:
        assert count is not None and learned is not None
        return learned.float().view(-1, 1, 1) * count.clamp(min=1).float().log()

    def __str__(self) -> str:
        return f"ssmax:{self.start:g}"


@dataclass(frozen=True)
class Yarn(Scale):
    """``yarn:S``: (0.1 ln S + 1)^2 for texts S times as long as in training (Peng et al. 2023, YaRN, Eq 15).

    YaRN multiplies queries and keys by 0.1 ln S + 1 each. Its frequencies are another choice.
    """

    times: float
    form = "yarn:S"
    help = "(0.1 ln S + 1)^2, for texts S times as long as in training"

    def __post_init__(self) -> None:
        check_number(f"--attention-scale {self}: S", self.times, 1, 1e6)

    def factor(self, count: torch.Tensor | None, learned: torch.Tensor | None) -> float:
        return (0.1 * math.log(self.times) + 1) ** 2

    def __str__(self) -> str:
        return f"yarn:{self.times:g}"


#: For no factor.
PLAIN = "plain"
CHOICES = Choices("--attention-scale", (LogN, SSMax, Yarn), PLAIN)
HELP = f"{PLAIN} (1); {CHOICES.help}"


def attention_scale(text: "str | Scale | None") -> Scale | None:
    """The Scale that ``--attention-scale`` names; None: ``plain``. Raises InputError as ``Choices.parse`` does."""
    return CHOICES.parse(text)
