"""The available keys: which columns of a batch they are, which of them are padding, and what a cache keeps of them."""

from dataclasses import dataclass
from typing import Any, Optional

import torch

from fairseq_posenc.attention.runs import Columns, Runs
from fairseq_posenc.encodings.positions import PADDING, Positions, is_eager, length_of, token_positions

#: What incremental decoding keeps for one attention, and for all of them.
Buffer = dict[str, Any]
IncrementalState = dict[str, Buffer]


@dataclass(frozen=True)
class Keys:
    """Consecutive columns of a batch, and maybe its first ones.

    Args:
        idx: range of column indices; a cache that rolls has dropped what came before.
        padding: (B, T), True at padding, or None without any.
        tokens_before: (B,), how many tokens of each sentence the columns before held; None: no padding among them, so
            that it is their number.
        sinks: so many first columns, none of them padding, which a cache that rolls has kept.
    """

    idx: range
    padding: Optional[torch.Tensor] = None
    tokens_before: Optional[torch.Tensor] = None
    sinks: int = 0

    @property
    def columns(self) -> Columns:
        """All columns."""
        return Runs(self.sinks, self.idx) if self.sinks else self.idx

    def extended(self, length: int, padding: Optional[torch.Tensor], batch: int, device: torch.device) -> "Keys":
        """These keys and ``length`` new ones with ``padding`` (B, length) or None."""
        idx = range(self.idx.start, self.idx.stop + length)
        if self.padding is None and padding is None:
            return Keys(idx, sinks=self.sinks)
        parts = []
        for mask, count in ((self.padding, length_of(self.idx)), (padding, length)):
            if count:
                parts.append(
                    torch.zeros(batch, count, dtype=torch.bool, device=device) if mask is None else mask.bool()
                )
        # A single part stays the same tensor, by which masks know that layers share it.
        return Keys(idx, parts[0] if len(parts) == 1 else torch.cat(parts, dim=1), self.tokens_before, self.sinks)

    def newest(self, count: Optional[int], sinks: int = 0) -> "Keys":
        """The last ``count`` of these keys and the first ``sinks``; all where there are not more, or where it is None.

        All too where there are sinks among padding: they would lie in other columns for each sentence.
        """
        dropped = 0 if count is None else length_of(self.idx) - count
        if dropped <= 0 or (sinks > self.sinks and (dropped <= sinks or self.padding is not None)):
            return self
        idx = range(self.idx.start + dropped, self.idx.stop)
        if self.padding is None:
            return Keys(idx, sinks=sinks)
        before = self.idx.start if self.tokens_before is None else self.tokens_before
        return Keys(idx, self.padding[:, dropped:], before + (~self.padding[:, :dropped]).sum(dim=1), sinks)

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


#: Free places of a new Store: so many, or this share of the keys that it holds.
ROOM, SHARE = 8, 0.25


class Store:
    """Keys and values (B, H, places, D) of which the first ``used`` places are in use.

    A step of decoding writes its own keys into a free place, instead of copying all that came before.
    """

    def __init__(self, k: torch.Tensor, v: torch.Tensor, used: int) -> None:
        self.k, self.v, self.used = k, v, used
        self._spare = k[:0], v[:0]

    @classmethod
    def of(cls, k: torch.Tensor, v: torch.Tensor, room: int) -> "Store":
        """A copy of keys and values (B, H, T, D) with ``room`` more places."""
        batch, heads, length, _ = k.shape
        shape = batch, heads, length + room
        store = cls(k.new_empty(*shape, k.size(3)), v.new_empty(*shape, v.size(3)), used=0)
        store.append(k, v)
        return store

    @property
    def room(self) -> int:
        """How many places are free."""
        return self.k.size(2) - self.used

    def make_room(self, count: int) -> None:
        """See to ``count`` free places."""
        if self.room < count:
            store = Store.of(*self.newest(self.used), room=max(ROOM * count, int(SHARE * self.used)))
            self.k, self.v, self._spare = store.k, store.v, store._spare

    def append(self, k: torch.Tensor, v: torch.Tensor) -> None:
        """Write keys and values (B, H, T, D) into the first free places."""
        stop = self.used + k.size(2)
        self.k[:, :, self.used : stop] = k
        self.v[:, :, self.used : stop] = v
        self.used = stop

    def newest(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The last ``count`` keys and values in use, (B, H, count, D)."""
        part = slice(self.used - count, self.used)
        return self.k[:, :, part], self.v[:, :, part]

    def reordered(self, new_order: torch.Tensor) -> "Store":
        """A Store of the rows ``new_order``."""
        # Free places too: whole rows are copied faster than parts of them.
        return Store(self.k.index_select(0, new_order), self.v.index_select(0, new_order), self.used)

    def reorder_(self, new_order: torch.Tensor) -> None:
        """Keep the rows ``new_order``. The two memories that this takes change places at the next call."""
        rows = len(new_order)
        if len(self._spare[0]) < rows:
            self._spare = self.k.new_empty(rows, *self.k.shape[1:]), self.v.new_empty(rows, *self.v.shape[1:])
        k, v = self._spare[0][:rows], self._spare[1][:rows]
        torch.index_select(self.k, 0, new_order, out=k)
        torch.index_select(self.v, 0, new_order, out=v)
        self._spare, self.k, self.v = (self.k, self.v), k, v


def read_cache(buffer: Optional[Buffer]) -> Keys:
    """The Keys that a buffer of incremental decoding holds."""
    if not buffer:
        return NO_KEYS
    start = buffer["start"]
    idx = range(start, start + buffer["prev_key"].size(2))
    return Keys(idx, buffer["prev_key_padding_mask"], buffer["tokens_before"], buffer["sinks"])


def appended(
    buffer: Optional[Buffer], k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, Optional[Store]]:
    """The keys and values of a buffer followed by new ones (B, H, T, D), and the Store that holds them, if any."""
    buffer = buffer or {"prev_key": k[:, :, :0], "prev_value": v[:, :, :0], "store": None, "used": 0}
    past_k, past_v, store = buffer["prev_key"], buffer["prev_value"], buffer["store"]
    if torch.is_grad_enabled() or not is_eager():  # autograd must find what it keeps unchanged
        return torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2), None
    seen, count = past_k.size(2), k.size(2)
    # Places in use stay as they are: where the same cache is continued a second time, a new Store is made.
    if store is None or store.used != buffer["used"] or store.room < count:
        store = Store.of(past_k, past_v, room=count + max(ROOM, int(SHARE * seen)))
    store.append(k, v)
    return *store.newest(seen + count), store


def with_sinks(buffer: Optional[Buffer], k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Those of the first columns that a buffer has kept apart, and then keys and values (B, H, T, D)."""
    if not buffer or not buffer["sinks"]:
        return k, v
    return torch.cat([buffer["sink_key"], k], dim=2), torch.cat([buffer["sink_value"], v], dim=2)


def cache_of(
    buffer: Optional[Buffer],
    keys: Keys,
    k: torch.Tensor,
    v: torch.Tensor,
    store: Optional[Store],
    count: Optional[int],
    sinks: int = 0,
) -> Buffer:
    """A buffer with the newest ``count`` of these keys and values (None: all), which ``store`` holds, if any.

    The first ``sinks`` are kept apart once others after them are dropped: those of ``buffer``, which was there before,
    or of these. Four of its names are fairseq's.
    """
    sink_key = sink_value = None
    if buffer and buffer["sinks"]:
        sink_key, sink_value = buffer["sink_key"], buffer["sink_value"]
    keys = keys.newest(count, sinks)
    if keys.sinks and sink_key is None:  # copies: what they were part of may go
        sink_key, sink_value = k[:, :, : keys.sinks].clone(), v[:, :, : keys.sinks].clone()
    first = k.size(2) - length_of(keys.idx)
    return {
        "sinks": keys.sinks,
        "sink_key": sink_key,
        "sink_value": sink_value,
        "prev_key": k[:, :, first:],
        "prev_value": v[:, :, first:],
        "prev_key_padding_mask": keys.padding,
        "start": keys.idx.start,
        "tokens_before": keys.tokens_before,
        "store": store,
        "used": 0 if store is None else store.used,
    }


def reorder(buffer: Buffer, new_order: torch.Tensor, in_place: bool = False) -> Buffer:
    """The buffer for the sentences ``new_order`` of its batch; ``in_place``: without leaving the old one whole."""
    store = buffer.get("store")
    if store is not None and store.used != buffer["used"]:
        store = None
    of_store = () if store is None else ("prev_key", "prev_value")
    reordered = {
        name: value.index_select(0, new_order) if torch.is_tensor(value) and name not in of_store else value
        for name, value in buffer.items()
    }
    if store is not None:
        if in_place:
            store.reorder_(new_order)
        else:
            store = reordered["store"] = store.reordered(new_order)
        reordered.update(zip(of_store, store.newest(buffer["prev_key"].size(2))))
    return reordered
