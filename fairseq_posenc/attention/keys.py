"""The available keys: which columns of a batch they are, which of them are padding, and what a cache keeps of them."""

from dataclasses import dataclass
from typing import Any, Optional

import torch

from fairseq_posenc.encodings.positions import PADDING, Positions, length_of, token_positions

#: What incremental decoding keeps for one attention, and for all of them.
Buffer = dict[str, Any]
IncrementalState = dict[str, Buffer]


@dataclass(frozen=True)
class Keys:
    """Consecutive columns of a batch.

    Args:
        idx: range of column indices; a cache that rolls has dropped what came before.
        padding: (B, T), True at padding, or None without any.
        tokens_before: (B,), how many tokens of each sentence the columns before held; None: no padding among them, so
            that it is their number.
    """

    idx: range
    padding: Optional[torch.Tensor] = None
    tokens_before: Optional[torch.Tensor] = None

    def extended(self, length: int, padding: Optional[torch.Tensor], batch: int, device: torch.device) -> "Keys":
        """These keys and ``length`` new ones with ``padding`` (B, length) or None."""
        idx = range(self.idx.start, self.idx.stop + length)
        if self.padding is None and padding is None:
            return Keys(idx)
        parts = []
        for mask, count in ((self.padding, length_of(self.idx)), (padding, length)):
            if count:
                parts.append(
                    torch.zeros(batch, count, dtype=torch.bool, device=device) if mask is None else mask.bool()
                )
        # A single part stays the same tensor, by which masks know that layers share it.
        return Keys(idx, parts[0] if len(parts) == 1 else torch.cat(parts, dim=1), self.tokens_before)

    def newest(self, count: Optional[int]) -> "Keys":
        """The last ``count`` of these keys; all where there are not more, or where it is None."""
        dropped = 0 if count is None else length_of(self.idx) - count
        if dropped <= 0:
            return self
        idx = range(self.idx.start + dropped, self.idx.stop)
        if self.padding is None:
            return Keys(idx)
        before = self.idx.start if self.tokens_before is None else self.tokens_before
        return Keys(idx, self.padding[:, dropped:], before + (~self.padding[:, :dropped]).sum(dim=1))

    def positions(self, device: torch.device) -> Positions:
        """Positions of these tokens in their sentences."""
        if self.padding is None:
            return Positions.consecutive(self.idx.start, length_of(self.idx), device)
        if self.idx.start == 0:
            return token_positions(self.padding)
        before = self.idx.start if self.tokens_before is None else self.tokens_before.unsqueeze(1)
        index = (before + (~self.padding).cumsum(dim=1) - 1).masked_fill(self.padding, PADDING)
        return Positions(index, self.idx.stop)


#: Before the first column.
NO_KEYS = Keys(range(0))


def read_cache(buffer: Optional[Buffer]) -> tuple[Keys, Optional[torch.Tensor], Optional[torch.Tensor]]:
    """What a buffer of incremental decoding holds: Keys, and (B, H, T, D) keys and values or None."""
    if not buffer:
        return NO_KEYS, None, None
    k, v, start = buffer["prev_key"], buffer["prev_value"], buffer["start"]
    idx = range(start, start + k.size(2))
    return Keys(idx, buffer["prev_key_padding_mask"], buffer["tokens_before"]), k, v


def cache_of(keys: Keys, k: torch.Tensor, v: torch.Tensor, count: Optional[int]) -> Buffer:
    """A buffer with the newest ``count`` of these keys and values (None: all). Its names are fairseq's, less two."""
    keys = keys.newest(count)
    first = k.size(2) - length_of(keys.idx)
    return {
        "prev_key": k[:, :, first:],
        "prev_value": v[:, :, first:],
        "prev_key_padding_mask": keys.padding,
        "start": keys.idx.start,
        "tokens_before": keys.tokens_before,
    }


def reorder(buffer: Buffer, new_order: torch.Tensor) -> Buffer:
    """The buffer for the sentences ``new_order`` of its batch."""
    return {
        name: value.index_select(0, new_order) if torch.is_tensor(value) else value for name, value in buffer.items()
    }
