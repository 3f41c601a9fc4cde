"""Frequencies of a rotation: a geometric series, and what changes it for texts longer than those of training."""

import math
from typing import Annotated, Any, Optional

import torch

from fairseq_posenc.encodings.limits import check_number
from fairseq_posenc.errors import InputError

#: The least and the greatest base; beyond them, angles leave the range of fp64, or stay 0 in all pairs but one.
BASES = 1e-6, 1e12
#: The same of a scaling factor, of every other factor, and of a length in tokens.
SCALES, FACTORS, LENGTHS = (1, 1e6), (1e-6, 1e6), (2, 1e9)

#: Method -> its options, the first of which it needs.
METHODS: dict[str, tuple[int, tuple[str, ...]]] = {
    "none": (0, ()),
    "linear": (1, ("scaling_factor",)),
    "ntk": (1, ("scaling_factor",)),
    "dynamic-ntk": (2, ("scaling_factor", "original_length")),
    "yarn": (2, ("scaling_factor", "original_length", "beta_fast", "beta_slow", "attention_factor")),
    "llama3": (2, ("scaling_factor", "original_length", "low_freq_factor", "high_freq_factor")),
    "longrope": (3, ("original_length", "short_factor", "long_factor", "scaling_factor", "attention_factor")),
}

# Options that several encodings declare.
ScalingFactor = Annotated[Optional[float], "s: how many times as long as in training texts may be"]
OriginalLength = Annotated[Optional[int], "length of the training texts, in tokens (all but linear and ntk)"]
AttentionFactor = Annotated[
    Optional[float],
    "yarn, longrope: factor of queries and of keys (default: 0.1 ln s + 1; root of 1 + ln s / ln length)",
]
BetaFast = Annotated[
    Optional[float], "yarn: dimensions that turn more often than this in a training text stay (default: 32)"
]
BetaSlow = Annotated[Optional[float], "yarn: dimensions that turn less often than this are interpolated (default: 1)"]
LowFreqFactor = Annotated[
    Optional[float], "llama3: dimensions that turn less often than this are interpolated (default: 1)"
]
HighFreqFactor = Annotated[Optional[float], "llama3: dimensions that turn more often than this stay (default: 4)"]


class Frequencies:
    """``f_i = base^(-2i/dim)`` for i = 0 .. dim/2 - 1: what a position turns the i-th pair of dimensions by.

    With s the scaling factor and L0 the original length, a method makes of them:

    - ``linear``, position interpolation (Chen et al. 2023): f_i / s.
    - ``ntk`` ("NTK-aware", bloc97 2023): those of the base ``base s^(dim/(dim - 2))``.
    - ``dynamic-ntk`` (emozilla 2023): of the base ``base (s L/L0 - s + 1)^(dim/(dim - 2))`` in a text of L > L0 tokens.
    - ``yarn`` (Peng et al. 2024, section 3.2): f_i where a pair turns more than ``beta_fast`` times in L0 tokens,
      f_i / s where it turns less than ``beta_slow`` times, and in between a ramp over i. As in the authors' code, the
      ramp begins and ends at whole i; the paper has a ramp over the number of turns.
    - ``llama3`` (Llama 3.1's code): f_i where a pair turns more than ``high_freq_factor`` times, f_i / s where it
      turns less than ``low_freq_factor`` times, and in between a ramp over the number of turns.
    - ``longrope`` (Ding et al. 2024): f_i / ``short_factor[i]`` in texts of up to L0 tokens, f_i / ``long_factor[i]``
      in longer ones. The lists are text with commas.

    ``yarn`` multiplies queries and keys by 0.1 ln s + 1, and ``longrope`` by sqrt(1 + ln s / ln L0); their scores grow
    by the square of that.

    Only the highest share ``keep`` of the frequencies stays (p-RoPE, Barbero et al. 2025, section 6), and of these the
    ones whose wavelength is at most ``max_wavelength`` (HoPE, Chen et al. 2025: the length of training). All others are
    0: those pairs are not turned.

    Args:
        dim: number of dimensions that are turned.
        flags: what the flags begin with, such as ``--rope``.

    Raises:
        InputError: a number out of its range, options that a method needs or does not have, or lists of another length.
    """

    def __init__(
        self,
        dim: int,
        base: float,
        flags: str,
        scaling: str = "none",
        keep: float = 1.0,
        max_wavelength: Optional[float] = None,
        **options: Any,
    ) -> None:
        self.dim, self.base, self.flags, self.method = dim, base, flags, scaling
        check_number(self._flag("base"), base, *BASES)
        check_number(self._flag("keep"), keep, 0, 1)
        #: Whether they depend on the length of the text.
        self.by_length = scaling in ("dynamic-ntk", "longrope")
        self._given = given = self._checked({name: value for name, value in options.items() if value is not None})
        self._plain = series(dim, base)
        # The small number keeps rounding from leaving out a pair.
        self._kept = torch.arange(dim // 2) < math.floor(keep * dim / 2 + 1e-9)
        if max_wavelength is not None:
            check_number(self._flag("max_wavelength"), max_wavelength, 2 * math.pi, LENGTHS[1])
            self._kept &= 2 * math.pi / self._plain <= max_wavelength
        self._usual = self._scaled() * self._kept
        #: What multiplies queries and keys.
        self.attention_factor: float = given.get("attention_factor", self._default_attention_factor())

    def regime(self, idx: range) -> int:
        """What the frequencies of these positions depend on, besides the options: equal where they are equal.

        Raises:
            InputError: the keys before ``idx``, which are turned already, would now be turned otherwise.
        """
        if not self.by_length:
            return 0
        length, original = idx.stop, self._given["original_length"]
        if length <= original:
            return 0
        turned = idx.start if self.method == "dynamic-ntk" else 0 < idx.start <= original
        if turned:
            raise InputError(
                f"{self._flag('scaling')} {self.method} turns all keys anew where a text grows beyond "
                f"{self._flag('original_length')} {original}, but step-by-step decoding keeps them as they are; give "
                "ntk or yarn, or shorter texts"
            )
        return length if self.method == "dynamic-ntk" else 1

    def of(self, regime: int) -> torch.Tensor:
        """(dim/2,) in fp64."""
        if regime == 0:
            return self._usual
        if self.method == "longrope":
            return self._plain / self._given["long_factor"] * self._kept
        scale = self._given["scaling_factor"]
        return self._of_larger_base(scale * regime / self._given["original_length"] - scale + 1) * self._kept

    def _flag(self, option: str) -> str:
        return f"{self.flags}-{option.replace('_', '-')}"

    def _checked(self, given: dict[str, Any]) -> dict[str, Any]:
        """These options, if the method has them and they are in range, with lists as tensors."""
        needed, known = METHODS[self.method]
        for name, value in given.items():
            if name not in known:
                methods = [method for method, (_, options) in METHODS.items() if name in options]
                raise InputError(
                    f"{self._flag(name)} {value} is an option of {self._flag('scaling')} {', '.join(methods)}, but "
                    f"that is {self.method}; leave it out"
                )
        wanted = [name for name in known[:needed] if name not in given]
        if self.method == "longrope" and not given.keys() & {"scaling_factor", "attention_factor"}:
            wanted.append("scaling_factor")  # from which the attention factor follows
        if wanted:
            raise InputError(f"{self._flag('scaling')} {self.method} needs {self._flag(wanted[0])}")
        ranges = {"scaling_factor": SCALES, "original_length": LENGTHS}
        for name, value in given.items():
            if not isinstance(value, str):
                check_number(self._flag(name), value, *ranges.get(name, FACTORS))
        if self.method in ("ntk", "dynamic-ntk") and self.dim == 2:
            raise InputError(
                f"{self._flag('scaling')} {self.method} needs at least 4 turned dimensions, but they are 2"
            )
        if self.method == "yarn" and self.base <= 1:
            raise InputError(
                f"{self._flag('scaling')} yarn needs {self._flag('base')} above 1, but it is {self.base:g}"
            )
        lists = {name: self._numbers(name, value) for name, value in given.items() if isinstance(value, str)}
        return {**given, **lists}

    def _numbers(self, name: str, text: str) -> torch.Tensor:
        """One number for each pair of dimensions, from a text with commas."""
        flag, words = self._flag(name), text.split(",")
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            raise InputError(f"{flag} must be numbers with commas between them, but is {text}") from None
        if len(numbers) != self.dim // 2:
            raise InputError(
                f"{flag} needs {self.dim // 2} numbers, one for each pair of dimensions, but has {len(numbers)}"
            )
        for number in numbers:
            check_number(flag, number, *FACTORS)
        return torch.tensor(numbers, dtype=torch.float64)

    def _default_attention_factor(self) -> float:
        scale = math.log(self._given.get("scaling_factor", 1))
        if self.method == "yarn":
            return 0.1 * scale + 1
        if self.method == "longrope":
            return math.sqrt(1 + scale / math.log(self._given["original_length"]))
        return 1.0

    def _scaled(self) -> torch.Tensor:
        """What the method makes of the frequencies in texts no longer than those of training, if that matters."""
        if self.method == "linear":
            return self._plain / self._given["scaling_factor"]
        if self.method == "ntk":
            return self._of_larger_base(self._given["scaling_factor"])
        if self.method == "yarn":
            return self._yarn()
        if self.method == "llama3":
            return self._llama3()
        if self.method == "longrope":
            return self._plain / self._given["short_factor"]
        return self._plain

    def _of_larger_base(self, growth: float) -> torch.Tensor:
        return series(self.dim, self.base * growth ** (self.dim / (self.dim - 2)))

    def _yarn(self) -> torch.Tensor:
        fast, slow = self._beta("beta_fast", 32), self._beta("beta_slow", 1)
        self._check_order("beta_fast", fast, "beta_slow", slow)

        def pair_of(turns: float) -> float:
            wavelength = self._given["original_length"] / turns
            return self.dim * math.log(wavelength / (2 * math.pi)) / (2 * math.log(self.base))

        low, high = math.floor(pair_of(fast)), math.ceil(pair_of(slow))
        low, high = (min(max(end, 0), self.dim - 1) for end in (low, high))
        pairs = torch.arange(self.dim // 2, dtype=torch.float64)
        # The small number: a ramp without a width is a step.
        return self._between(((pairs - low) / max(high - low, 1e-3)).clamp(0, 1))

    def _llama3(self) -> torch.Tensor:
        low, high = self._beta("low_freq_factor", 1), self._beta("high_freq_factor", 4)
        self._check_order("high_freq_factor", high, "low_freq_factor", low)
        turns = self._given["original_length"] * self._plain / (2 * math.pi)
        return self._between(((high - turns) / (high - low)).clamp(0, 1))

    def _between(self, interpolated: torch.Tensor) -> torch.Tensor:
        """From f_i (0) to f_i / s (1)."""
        return self._plain * (1 - interpolated) + self._plain / self._given["scaling_factor"] * interpolated

    def _beta(self, name: str, default: float) -> float:
        return float(self._given.get(name, default))

    def _check_order(self, larger: str, high: float, smaller: str, low: float) -> None:
        if high <= low:
            raise InputError(f"{self._flag(larger)} {high:g} must be above {self._flag(smaller)} {low:g}")


def series(dim: int, base: float) -> torch.Tensor:
    """base^(-2i/dim) for i = 0 .. dim/2 - 1, in fp64."""
    return base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
