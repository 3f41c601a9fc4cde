"""What a task is: examples of any length, drawn at random."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Optional

#: Symbols of the tasks on random strings.
SYMBOLS = tuple(f"s{number}" for number in range(10))
BITS = ("0", "1")


@dataclass(frozen=True)
class Task:
    """One task.

    Args:
        name: its name.
        summary: one line for the README and for error messages.
        source: where the task comes from.
        length_of: what is counted as the length of an example.
        sample: function of a random generator and a length that returns the tokens of an input and of its output.
        prompt, answer: functions of a length: the largest number of tokens of an input, and of an output.
        exists: function of a length: whether the task has examples of it.
        trained: the greatest length in training; None: that of the scale.
    """

    name: str
    summary: str
    source: str
    sample: Callable[[Random, int], tuple[list[str], list[str]]]
    length_of: str = "tokens of the input"
    prompt: Callable[[int], int] = lambda length: length
    answer: Callable[[int], int] = lambda length: length
    exists: Callable[[int], bool] = lambda length: length >= 1
    trained: Optional[int] = None


def draw(random: Random, symbols: tuple[str, ...], length: int) -> list[str]:
    """Independent symbols, each with the same probability."""
    return random.choices(symbols, k=length)
