"""Attention patterns: which of the earlier keys a query of a causal stack attends to.

Patterns know nothing of encodings, and encodings nothing of patterns. Positions need no renumbering inside a window.
The hooks that compare a query with a key go by the difference of their indices, which is the same inside and outside
(xPos centres its scale on the available keys, so that it stays in range). The others give a token its position once, as
an embedding or, in posnet-attn, as a value, before it is a query of one window and a key of several: only its position
in the text can be meant, as in "Absolute + BCA" of Sun et al. 2023, Table 5.
"""

import re
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import torch

from fairseq_posenc.attention.runs import Columns
from fairseq_posenc.errors import InputError
from fairseq_posenc.names import nearest

#: Blocks of a narrow window are at least this wide: smaller ones cost more in bookkeeping than they save.
NARROWEST_BLOCK = 64

#: One index, or a tensor of them.
Index = TypeVar("Index", int, torch.Tensor)


class Pattern:
    """Which of the earlier keys a query attends to."""

    #: How users write it, and what it means.
    form: ClassVar[str]
    help: ClassVar[str]
    #: Whether it matters where in a batch a sentence begins.
    counts_from_start: ClassVar[bool] = False

    @property
    def sinks(self) -> int:
        """All queries attend to the first so many tokens of their text, as far as these come before them."""
        return 0

    @property
    def left_context(self) -> int | None:
        """The largest number of earlier keys that a query attends to, besides ``sinks``; None: all."""
        return None

    @property
    def block(self) -> int | None:
        """Blocks of so many queries attend to nothing before the block that precedes them; None: no such number."""
        return None

    def first_visible(self, q_idx: Index) -> Index:
        """A query attends to no key before this one but ``sinks``: both int, or int64 tensors. May be negative, which
        means 0.
        """
        raise NotImplementedError

    def count(self, q_idx: torch.Tensor) -> torch.Tensor:
        """How many keys queries attend to, int64 as they are."""
        hidden = (self.first_visible(q_idx) - self.sinks).clamp(min=0)
        return q_idx + 1 - hidden

    def hides_any(self, q_idx: range, kv_idx: Columns) -> bool:
        """Whether some of these queries do not attend to some of these keys that precede them."""
        return self.first_visible(q_idx.stop - 1) > max(kv_idx.start, self.sinks)

    def visible(self, q_idx: torch.Tensor, kv_idx: torch.Tensor) -> torch.Tensor:
        """Whether queries attend to keys, both int64 tensors that broadcast: bool, of their common shape."""
        near = kv_idx >= self.first_visible(q_idx)
        return (kv_idx <= q_idx) & (near | (kv_idx < self.sinks) if self.sinks else near)


@dataclass(frozen=True)
class Full(Pattern):
    """Every query attends to itself and to all earlier keys."""

    form = "full"
    help = "itself and all before"

    def first_visible(self, q_idx: Index) -> Index:
        return q_idx * 0

    def __str__(self) -> str:
        return "full"


class OfWindow(Pattern):
    """A query attends to itself and to the ``size`` - 1 keys before it."""

    size: int

    @property
    def left_context(self) -> int:
        return self.size - 1

    @property
    def block(self) -> int:
        return max(self.left_context, NARROWEST_BLOCK)

    def first_visible(self, q_idx: Index) -> Index:
        return q_idx - self.left_context


@dataclass(frozen=True)
class Window(OfWindow):
    """``window:W``: every query attends to itself and to the W - 1 keys before it (Chi et al. 2023, section 3.3)."""

    size: int
    form = "window:W"
    help = "itself and the W - 1 before"

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InputError(
                f"--attention-pattern {self}: a window holds at least the query itself; give window:1 or more"
            )

    def __str__(self) -> str:
        return f"window:{self.size}"


@dataclass(frozen=True)
class Blockwise(Pattern):
    """``blockwise:L``: blockwise causal attention (Sun et al. 2023, section 3.3). A text is cut into blocks of L/2; a
    query attends to the earlier keys of its own block and to the whole block before. L is the length of training.
    """

    length: int
    form = "blockwise:L"
    help = "its block of L/2 tokens and the block before"
    counts_from_start = True

    def __post_init__(self) -> None:
        if self.length < 2 or self.length % 2:
            raise InputError(
                f"--attention-pattern {self}: blocks are half of this length, which must be even and at least 2; "
                f"give blockwise:{max(2, self.length + 1)}"
            )

    @property
    def left_context(self) -> int:
        return self.length - 1

    @property
    def block(self) -> int:
        return self.length // 2

    def first_visible(self, q_idx: Index) -> Index:
        return (q_idx // self.block - 1) * self.block

    def __str__(self) -> str:
        return f"blockwise:{self.length}"


@dataclass(frozen=True)
class Sinks(OfWindow):
    """``sinks:S,window:W``: every query attends to the first S tokens of the text, to the W - 1 keys before it and to
    itself (Xiao et al. 2023, StreamingLLM, who take S = 4).

    Positions are those in the text, in training, evaluation and step by step alike: a model that is trained with the
    pattern learns what a sink at any distance is. Xiao et al. give models that were trained without it positions inside
    the cache, where no distance is larger than in training; for biases, ``--distance clamp:W`` does much the same.
    """

    first: int
    size: int
    form = "sinks:S,window:W"
    help = "the first S of the text, the W - 1 before and itself"
    counts_from_start = True

    def __post_init__(self) -> None:
        if self.first < 1 or self.size < 1:
            raise InputError(
                f"--attention-pattern {self}: there is at least one sink, and a window holds the query itself; give "
                f"sinks:{max(1, self.first)},window:{max(1, self.size)}"
            )

    @property
    def sinks(self) -> int:
        return self.first

    def __str__(self) -> str:
        return f"sinks:{self.first},window:{self.size}"


FULL = Full()
#: By the first word of their forms, in which a capital letter stands for a whole number.
PATTERNS: dict[str, type[Any]] = {"full": Full, "window": Window, "blockwise": Blockwise, "sinks": Sinks}
#: For help and errors.
FORMS = " or ".join(", ".join(pattern.form for pattern in PATTERNS.values()).rsplit(", ", 1))
HELP = "; ".join(f"{pattern.form} ({pattern.help})" for pattern in PATTERNS.values())


def attention_pattern(text: str | Pattern) -> Pattern:
    """The pattern that ``--attention-pattern`` names.

    Raises:
        InputError: another name, no whole number of up to 9 digits, or a number out of range.
    """
    name = re.split("[:,]", str(text))[0]
    pattern = PATTERNS.get(name)
    given = None if pattern is None else re.fullmatch(re.sub("[A-Z]", r"(-?\\d{1,9})", pattern.form), str(text))
    if pattern is None or given is None:
        hint = "" if pattern else nearest(name, PATTERNS)
        raise InputError(
            f"--attention-pattern must be one of {FORMS}, with whole numbers of up to 9 digits, but is {text}{hint}"
        )
    return pattern(*map(int, given.groups()))


def pattern_list(text: str) -> list[str]:
    """The patterns of a list with commas, which may also be inside a pattern."""
    return re.findall("sinks:[^,]*,window:[^,]*|[^,]+", text)
