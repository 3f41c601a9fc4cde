"""``--distance``: another distance in place of those that are larger than in training, for encodings of distances."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from fairseq_posenc.encodings.limits import check_number
from fairseq_posenc.encodings.positions import Idx, Positions, index_of
from fairseq_posenc.errors import InputError
from fairseq_posenc.names import Choices

if TYPE_CHECKING:
    from fairseq_posenc.encodings.base import PositionEncoding

#: The largest number of an option.
MOST = 1e9


class Distance:
    """One choice of distances."""

    #: How users write it, and what it means.
    form: ClassVar[str]
    help: ClassVar[str]
    #: Whether its numbers are whole.
    whole: ClassVar[bool] = True
    #: W: distances up to it stay as they are.
    exact: int
    #: Whether ``numbers`` depends on where a text begins.
    counts_from_start: ClassVar[bool] = False

    @property
    def shift(self) -> int:
        """The replaced distance beyond ``exact`` is a difference of ``numbers`` plus this."""
        raise NotImplementedError

    def numbers(self, positions: torch.Tensor) -> torch.Tensor:
        """Positions (B or 1, T) -> what rotations have in their place beyond ``exact``, or what broadcasts to it."""
        raise NotImplementedError

    def __call__(self, distances: torch.Tensor) -> torch.Tensor:
        """Distances of any shape, negative for keys in the future, whole or not -> others in their place."""
        raise NotImplementedError

    def check(self, encoding: "PositionEncoding") -> None:
        """Raise InputError where ``encoding`` does not go by distances."""
        if not encoding.takes_distance:
            reason = ", as its frequencies go by the length of a text" if type(encoding).takes_distance else ""
            raise InputError(
                f"--distance {self}: {encoding.name} has no distances that could be replaced{reason}; leave it out, or "
                "use an encoding that has (`fairseq-posenc list`)"
            )


@dataclass(frozen=True)
class Clamp(Distance):
    """``clamp:W``: no distance is larger than W, as in ReRoPE (Su 2023), which does so with rotations."""

    exact: int
    form = "clamp:W"
    help = "at most W"

    def __post_init__(self) -> None:
        check_number(f"--distance {self}: W", self.exact, 1, MOST)

    @property
    def shift(self) -> int:
        return self.exact

    def numbers(self, positions: torch.Tensor) -> torch.Tensor:
        return positions.new_zeros(1, 1)

    def __call__(self, distances: torch.Tensor) -> torch.Tensor:
        return distances.clamp(-self.exact, self.exact)

    def __str__(self) -> str:
        return f"clamp:{self.exact}"


@dataclass(frozen=True)
class Group(Distance):
    """``group:W,G``: beyond W, floor(d/G) + W - floor(W/G), as Self-Extend has it (Jin et al. 2024).

    They round the positions of query and key, and so do rotations here. Biases and tables have the distance rounded,
    which differs by at most 1.
    """

    exact: int
    size: int
    form = "group:W,G"
    help = "beyond W, G distances count as one"
    counts_from_start = True

    def __post_init__(self) -> None:
        check_number(f"--distance {self}: W", self.exact, 1, MOST)
        check_number(f"--distance {self}: G", self.size, 1, MOST)

    @property
    def shift(self) -> int:
        return self.exact - self.exact // self.size

    def numbers(self, positions: torch.Tensor) -> torch.Tensor:
        return positions.div(self.size, rounding_mode="floor")

    def __call__(self, distances: torch.Tensor) -> torch.Tensor:
        steps = distances.abs()
        grouped = self.numbers(steps) + self.shift
        return torch.where(steps <= self.exact, distances, grouped * distances.sign())

    def __str__(self) -> str:
        return f"group:{self.exact},{self.size}"


#: (numbers of the queries, numbers of the keys, whether keys are ahead) -> scores (B, H, Tq, Tk).
ScoresAt = Callable[[Positions, Positions, bool], torch.Tensor]


def replaced(
    near: torch.Tensor, far: ScoresAt, distance: Distance, q_idx: Idx, kv_idx: Idx, causal: bool
) -> torch.Tensor:
    """Scores by rotations, with other distances beyond W: ``near`` (B, H, Tq, Tk) up to it, ``far(..)`` beyond."""
    q, k = index_of(q_idx, near.device), index_of(kv_idx, near.device)
    first = kv_idx.start if isinstance(kv_idx, range) else 0
    if not q.is_floating_point() and max(q_idx.stop, kv_idx.stop) - 1 - first <= distance.exact:
        return near  # nothing is farther
    steps = (q.unsqueeze(2) - k.unsqueeze(1)).unsqueeze(1)

    def at(positions: torch.Tensor, idx: Idx, shift: int) -> Positions:
        return Positions(distance.numbers(positions) + shift, idx.stop + shift)

    behind = far(at(q, q_idx, distance.shift), at(k, kv_idx, 0), False)
    scores = torch.where(steps > distance.exact, behind, near)
    if causal:
        return scores
    ahead = far(at(q, q_idx, 0), at(k, kv_idx, distance.shift), True)
    return torch.where(steps < -distance.exact, ahead, scores)


#: For distances as they are.
PLAIN = "plain"
CHOICES = Choices("--distance", (Clamp, Group), PLAIN)
HELP = CHOICES.help


def distance_named(text: "str | Distance | None") -> Distance | None:
    """The Distance that ``--distance`` names; None: ``plain``. Raises InputError as ``Choices.parse`` does."""
    return CHOICES.parse(text)
