"""Attention patterns: which of the earlier keys a query of a causal stack attends to.

Patterns know nothing of encodings, and encodings nothing of patterns. Positions need no renumbering inside a window.
The hooks that compare a query with a key go by the difference of their indices, which is the same inside and outside
(xPos centres its scale on the available keys, so that it stays in range). The others give a token its position once, as
an embedding or, in posnet-attn, as a value, before it is a query of one window and a key of several: only its position
in the text can be meant, as in "Absolute + BCA" of Sun et al. 2023, Table 5.
"""

from dataclasses import dataclass
from typing import ClassVar, Optional

from fairseq_posenc.errors import InputError

#: Blocks of a narrow window are at least this wide: smaller ones cost more in bookkeeping than they save.
NARROWEST_BLOCK = 64


@dataclass(frozen=True)
class Full:
    """Every query attends to itself and to all earlier keys."""

    #: The largest number of earlier keys that a query attends to; None: all.
    left_context: ClassVar[Optional[int]] = None
    #: A block of this many queries attends to nothing before the block that precedes it; None: there is no such number.
    block: ClassVar[Optional[int]] = None
    #: Whether it matters where in a batch a sentence begins.
    counts_from_start: ClassVar[bool] = False

    def first_visible(self, query):
        """The first key that a query attends to: both int, or int64 tensors. May be negative, which means 0."""
        return query * 0

    def __str__(self):
        return "full"


@dataclass(frozen=True)
class Window:
    """``window:W``: every query attends to itself and to the W - 1 keys before it (Chi et al. 2023, section 3.3)."""

    size: int
    counts_from_start: ClassVar[bool] = False

    def __post_init__(self):
        if self.size < 1:
            raise InputError(
                f"--attention-pattern {self}: a window holds at least the query itself; give window:1 or more"
            )

    @property
    def left_context(self):
        return self.size - 1

    @property
    def block(self):
        return max(self.left_context, NARROWEST_BLOCK)

    def first_visible(self, query):
        return query - self.left_context

    def __str__(self):
        return f"window:{self.size}"


@dataclass(frozen=True)
class Blockwise:
    """``blockwise:L``: blockwise causal attention (Sun et al. 2023, section 3.3). A text is cut into blocks of L/2; a
    query attends to the earlier keys of its own block and to the whole block before. L is the length of training.
    """

    length: int
    counts_from_start: ClassVar[bool] = True

    def __post_init__(self):
        if self.length < 2 or self.length % 2:
            raise InputError(
                f"--attention-pattern {self}: blocks are half of this length, which must be even and at least 2; "
                f"give blockwise:{max(2, self.length + 1)}"
            )

    @property
    def left_context(self):
        return self.length - 1

    @property
    def block(self):
        return self.length // 2

    def first_visible(self, query):
        return (query // self.block - 1) * self.block

    def __str__(self):
        return f"blockwise:{self.length}"


FULL = Full()
SIZED = {"window": Window, "blockwise": Blockwise}


def attention_pattern(text):
    """The pattern that ``--attention-pattern`` names: ``full``, ``window:W`` or ``blockwise:L``.

    Raises:
        InputError: another name, no whole number, or a number out of range.
    """
    name, _, number = str(text).partition(":")
    if str(text) == str(FULL):
        return FULL
    if name not in SIZED or not number.lstrip("-").isdecimal():
        raise InputError(
            f"--attention-pattern must be full, window:W or blockwise:L with whole numbers W and L, but is {text}"
        )
    return SIZED[name](int(number))
