"""Claims of the papers beside measured numbers: what a measurement shows of a claim, and the rows of a table of claims.

A difference counts where it is larger than the noise: than a least difference, and than the sum of the standard
deviations of both numbers. A claim about several measurements shows where each of them shows it, and is opposite where
each of them is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

SHOWS, DOES_NOT_SHOW, OPPOSITE = "shows", "does not show", "opposite"

#: Two perplexities are different if they differ by more than this share of the smaller one.
PERPLEXITY = 0.01
#: Two BLEU scores without a test of significance are different if they differ by more.
BLEU = 1.0


@dataclass(frozen=True)
class Number:
    """A measured number: what it is, and how it is written."""

    name: str
    value: float
    form: str = "{:.1f}"
    deviation: float | None = None
    mark: str = ""

    def __str__(self) -> str:
        deviation = "" if self.deviation is None else " ± " + self.form.format(self.deviation)
        return f"{self.name} {self.form.format(self.value)}{deviation}{self.mark and ' ' + self.mark}"


@dataclass(frozen=True)
class Measured:
    """What was measured, as text, and what it shows of a claim."""

    text: str
    verdict: str


@dataclass(frozen=True)
class Claim:
    """A claim: where the paper makes it, what it says, and what was measured (a function, which reads results)."""

    place: str
    gist: str
    measure: Callable[[], Measured | Sequence[Measured]]
    note: str = ""


# ---- what numbers show ---------------------------------------------------------------------------------------------
def numbers(*of: Number) -> str:
    return ", ".join(map(str, of))


def larger(one: Number, other: Number, least: float) -> Measured:
    """Whether the first number is larger than the second one, by more than ``least`` and the noise."""
    noise = max(least, (one.deviation or 0) + (other.deviation or 0))
    difference = one.value - other.value
    verdict = SHOWS if difference > noise else OPPOSITE if difference < -noise else DOES_NOT_SHOW
    return Measured(numbers(one, other), verdict)


def lower_perplexity(one: Number, other: Number) -> Measured:
    """Whether the first perplexity is lower than the second one."""
    found = larger(other, one, PERPLEXITY * min(one.value, other.value))
    return Measured(numbers(one, other), found.verdict)


def marked(number: Number, baseline: Number, better: bool) -> Measured:
    """Whether a paired bootstrap test finds the score better, or worse, than that of the baseline."""
    verdicts = {"+": SHOWS if better else OPPOSITE, "-": OPPOSITE if better else SHOWS, "": DOES_NOT_SHOW}
    return Measured(numbers(number, baseline), verdicts[number.mark[:1]])


def close(one: Number, other: Number, most: float) -> Measured:
    """Whether two numbers differ by at most the share ``most`` of the second one."""
    return holds(abs(one.value / other.value - 1) <= most, one, other)


def falling(values: Sequence[Number]) -> Measured:
    """Whether each number is below the one before it; opposite: each is above."""
    steps = [after.value - before.value for before, after in pairwise(values)]
    down, up = all(step < 0 for step in steps), all(step > 0 for step in steps)
    return Measured(numbers(*values), SHOWS if down else OPPOSITE if up else DOES_NOT_SHOW)


def holds(condition: bool, *of: Number) -> Measured:
    """A condition that numbers fulfil or not."""
    return Measured(numbers(*of), SHOWS if condition else DOES_NOT_SHOW)


# ---- the table -----------------------------------------------------------------------------------------------------
def verdict(measured: Sequence[Measured]) -> str:
    """What all measurements of a claim show together."""
    found = {one.verdict for one in measured}
    return found.pop() if len(found) == 1 else DOES_NOT_SHOW


def claim_table(claims: Sequence[Claim]) -> list[list[str]]:
    """Rows of text, the header first."""
    rows = [["place", "claim", "measured here", "verdict"]]
    for claim in claims:
        measured = claim.measure()
        measured = [measured] if isinstance(measured, Measured) else measured
        note = f" ({claim.note})" if claim.note else ""
        rows.append([claim.place, claim.gist, "; ".join(one.text for one in measured) + note, verdict(measured)])
    return rows
