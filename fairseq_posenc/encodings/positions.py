"""From padding to positions."""

from dataclasses import dataclass
from typing import Optional

import torch

#: The position of padding. Encodings may compute anything there, as nothing attends to it.
PADDING = -1


def is_eager() -> bool:
    """Whether operations run at once, so that Python may read numbers from tensors and take a shorter way.

    They do not while PyTorch compiles or exports a model: the code must then be right for all numbers.
    """
    return not torch.compiler.is_compiling()


def length_of(idx: range) -> int:
    """The length of a range. Its ends may be symbols while PyTorch compiles, where ``len`` has no answer."""
    return idx.stop - idx.start


def same(one: range, other: range) -> bool:
    """Whether two ranges are equal, also where their ends are symbols."""
    return one.start == other.start and one.stop == other.stop


@dataclass(frozen=True)
class Positions:
    """The index of each token in its own sentence, and what is known of it without waiting for a GPU.

    Args:
        index: (B, T) or (1, T) int64: 0 for the first token of a sentence, PADDING at padding. ``--positions`` puts
            other numbers there, which may be no whole ones, then in fp64.
        stop: larger than every index.
        first: the index is ``first``, ``first + 1``, .. for all sentences, in one row (1, T), which also numbers the
            padding after them; None where it may be otherwise.
    """

    index: torch.Tensor
    stop: int
    first: Optional[int] = None

    @classmethod
    def of(cls, index: "Positions | torch.Tensor") -> "Positions":
        """Positions from their index alone, which is read, or as they are."""
        if isinstance(index, Positions):
            return index
        first, stop = int(index[0, 0]), int(index.max()) + 1
        consecutive = torch.arange(first, first + index.size(1), device=index.device).unsqueeze(0)
        return cls(index, stop, first if first >= 0 and torch.equal(index, consecutive) else None)

    @classmethod
    def consecutive(cls, first: int, length: int, device: torch.device) -> "Positions":
        """``length`` tokens from position ``first`` on, in every sentence."""
        stop = first + length
        return cls(torch.arange(first, stop, device=device).unsqueeze(0), stop, first)

    def longest_beyond(self, limit: int) -> Optional[int]:
        """How many positions the longest sentence has, where that is more than ``limit``; otherwise None."""
        # Only texts that may be too long are worth waiting for.
        if self.stop <= limit or not is_eager():
            return None
        longest = int(self.index.max()) + 1
        return longest if longest > limit else None

    @property
    def whole(self) -> bool:
        """Whether all numbers are whole ones."""
        return not self.index.is_floating_point()

    def columns(self, idx: range) -> "Positions":
        """Those of the columns ``idx``."""
        return Positions(self.index[:, idx.start : idx.stop], self.stop)

    def newest(self, count: int) -> "Positions":
        """The last ``count`` tokens of each row."""
        dropped = self.index.size(1) - count
        return Positions(self.index[:, dropped:], self.stop, None if self.first is None else self.first + dropped)


#: Where queries or keys are: consecutive columns of a batch, or numbers of their own.
Idx = range | Positions


def index_of(idx: Idx, device: torch.device) -> torch.Tensor:
    """(B, T) or (1, T)."""
    return idx.index if isinstance(idx, Positions) else torch.arange(idx.start, idx.stop, device=device).unsqueeze(0)


def find_padding(padding_mask: torch.Tensor) -> tuple[bool, bool]:
    """Whether padding_mask (B, T) holds any padding, and whether a sentence begins with it: one look for both."""
    if not is_eager():
        return True, True
    padded, left_padded = torch.stack([padding_mask.any(), padding_mask[:, :1].any()]).tolist()
    return padded, left_padded


def token_positions(padding_mask: torch.Tensor, left_padded: bool = True) -> Positions:
    """The position of every token in its own sentence, wherever the padding is.

    Args:
        padding_mask: (B, T), True at padding.
        left_padded: whether a sentence begins with padding. Where none does, the rows differ only at padding, and one
            row stands for all.
    """
    if not left_padded:
        return Positions.consecutive(0, padding_mask.size(1), padding_mask.device)
    index = ((~padding_mask).cumsum(dim=1) - 1).masked_fill(padding_mask, PADDING)
    return Positions(index, padding_mask.size(1))
