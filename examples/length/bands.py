"""Bands of lengths, relative to the greatest length in training."""

from dataclasses import dataclass

from fairseq_posenc.errors import InputError

#: Lengths beyond twice the trained one at which models are tested, at most.
POINTS = 12
SEEN, UNSEEN, FURTHER = "seen", "unseen", "further"


@dataclass(frozen=True)
class Band:
    """The lengths from ``first`` to ``last``."""

    name: str
    first: int
    last: int


def bands(trained, longest):
    """The bands of a task, in this order; ``unseen`` joins the three in front of it.

    Args:
        trained: the greatest length in training.
        longest: the greatest length that is tested.

    Raises:
        InputError: a band is empty.
    """
    if trained < 4:
        raise InputError(f"training lengths up to {trained} leave the band +25% empty; train up to 4 or more")
    if longest <= 2 * trained:
        raise InputError(f"test lengths up to {longest} leave the band {FURTHER} empty; test beyond {2 * trained}")
    ends = {"+25%": trained * 5 // 4, "+50%": trained * 3 // 2, "+100%": 2 * trained}
    found, first = [Band(SEEN, 1, trained)], trained + 1
    for name, last in ends.items():
        found.append(Band(name, first, last))
        first = last + 1
    return [*found, Band(UNSEEN, trained + 1, 2 * trained), Band(FURTHER, first, longest)]


def length_points(task, trained, longest):
    """The lengths of the test examples of a task: all that it has up to twice ``trained``, and some further ones."""
    near = [length for length in range(1, 2 * trained + 1) if task.exists(length)]
    far = [length for length in range(2 * trained + 1, longest + 1) if task.exists(length)]
    points = min(POINTS, len(far))
    return near + [far[(number + 1) * len(far) // points - 1] for number in range(points)]
