"""Perplexities of the committed results, and how they change with the length of the text."""

from examples.common.claims import Measured, Number, lower_perplexity, numbers
from examples.lm.readme_tables import read


def times(factor):
    """A length relative to the training length: 1/2x, 1x, 2x."""
    return f"{factor}x" if factor >= 1 else f"1/{round(1 / factor)}x"


def cell(result, system, factor, pattern="full"):
    """A cell of a result: a system at ``factor`` times the training length, under a pattern."""
    record = read(f"small/{result}")
    (row,) = (
        row
        for row in record["texts"]["test"]["rows"]
        if row["system"] == system and row["pattern"].partition(":")[0] == pattern
    )
    return row["values"][str(int(factor * record["training_length"]))]


def at(result, system, factor, pattern="full", show_system=True):
    """The same as a Number."""
    found = cell(result, system, factor, pattern)
    name = f"`{system}` " + ("" if pattern == "full" else f"{pattern} ") if show_system else ""
    return Number(name + times(factor), found["value"], deviation=found["deviation"])


def every(result, system, factors, pattern="full"):
    """The same at several lengths; the first one names the system."""
    return [at(result, system, factor, pattern, show_system=not place) for place, factor in enumerate(factors)]


def rises(result, system, first, last):
    """Whether the perplexity at the last length is higher than at the first one."""
    before, after = every(result, system, (first, last))
    return Measured(numbers(before, after), lower_perplexity(before, after).verdict)


def falls(result, system, first, last):
    """Whether the perplexity at the last length is lower than at the first one."""
    before, after = every(result, system, (first, last))
    return Measured(numbers(before, after), lower_perplexity(after, before).verdict)
