"""``--distance``: another distance in place of those that are larger than in training, for encodings of distances."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from fairseq_posenc.encodings.limits import check_number
from fairseq_posenc.errors import InputError
from fairseq_posenc.names import named_numbers, nearest

if TYPE_CHECKING:
    from fairseq_posenc.encodings.base import PositionEncoding

#: The largest number of an option.
MOST = 1e9


class Distance:
    """One choice of distances."""

    #: How users write it, and what it means.
    form: ClassVar[str]
    help: ClassVar[str]

    def __call__(self, distances: torch.Tensor) -> torch.Tensor:
        """Distances of any shape, negative for keys in the future, whole or not -> others in their place."""
        raise NotImplementedError

    def check(self, encoding: "PositionEncoding") -> None:
        """Raise InputError where ``encoding`` does not go by distances."""
        if not encoding.takes_distance:
            raise InputError(
                f"--distance {self}: {encoding.name} has no distances that could be replaced; leave it out, or use an "
                "encoding that has (`fairseq-posenc list`)"
            )


@dataclass(frozen=True)
class Clamp(Distance):
    """``clamp:W``: no distance is larger than W, as in ReRoPE (Su 2023), which does so with rotations."""

    most: int
    form = "clamp:W"
    help = "W where it is larger"

    def __post_init__(self) -> None:
        check_number(f"--distance {self}: W", self.most, 1, MOST)

    def __call__(self, distances: torch.Tensor) -> torch.Tensor:
        return distances.clamp(-self.most, self.most)

    def __str__(self) -> str:
        return f"clamp:{self.most}"


@dataclass(frozen=True)
class Group(Distance):
    """``group:W,G``: beyond W, floor(d/G) + W - floor(W/G), as Self-Extend has it (Jin et al. 2024).

    They round the positions of query and key, here the distance is rounded: it differs from theirs by at most 1.
    """

    exact: int
    size: int
    form = "group:W,G"
    help = "beyond W, G of them are one"

    def __post_init__(self) -> None:
        check_number(f"--distance {self}: W", self.exact, 1, MOST)
        check_number(f"--distance {self}: G", self.size, 1, MOST)

    def __call__(self, distances: torch.Tensor) -> torch.Tensor:
        steps = distances.abs()
        grouped = steps.div(self.size, rounding_mode="floor") + self.exact - self.exact // self.size
        return torch.where(steps <= self.exact, distances, grouped * distances.sign())

    def __str__(self) -> str:
        return f"group:{self.exact},{self.size}"


#: For distances as they are.
PLAIN = "plain"
#: By the name before the colon.
DISTANCES: dict[str, type[Any]] = {"clamp": Clamp, "group": Group}
#: For help and errors.
FORMS = ", ".join([PLAIN, *(distance.form for distance in DISTANCES.values())])
HELP = "; ".join(f"{distance.form} ({distance.help})" for distance in DISTANCES.values())


def distance_named(text: "str | Distance | None") -> Distance | None:
    """The Distance that ``--distance`` names; None: ``plain``.

    Raises:
        InputError: another name, another count of numbers, or a number out of range.
    """
    name, numbers = named_numbers(str(text or PLAIN))
    if name == PLAIN and numbers == []:
        return None
    distance = DISTANCES.get(name)
    if distance is None:
        raise InputError(f"--distance must be one of {FORMS}, but is {text}{nearest(name, [PLAIN, *DISTANCES])}")
    letters = distance.form.count(",") + 1
    if numbers is None or len(numbers) != letters or not all(number.is_integer() for number in numbers):
        raise InputError(f"--distance {text}: write {distance.form}, each letter a whole number")
    return distance(*map(int, numbers))
