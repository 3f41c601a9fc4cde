"""Attention under a pattern, through every hook of an encoding: whole, in slices of queries, or in blocks.

Memory stays linear in the length where no weights are asked for, in training too: what is added to the scores never
has (H, L, L) numbers for a long L, and slices are computed once more in the backward pass instead of being kept.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from fairseq_posenc.attention import sliced
from fairseq_posenc.attention.kernels import (
    Products,
    fused_attention,
    rebuilt_for_backward,
    scaled_products,
    weighted_attention,
)
from fairseq_posenc.attention.keys import Keys
from fairseq_posenc.attention.masks import additive, visible_keys
from fairseq_posenc.attention.patterns import Pattern
from fairseq_posenc.attention.runs import Columns, Runs, column_tensor, count_of
from fairseq_posenc.encodings.base import CONSECUTIVE, PositionEncoding
from fairseq_posenc.encodings.positions import Idx, Positions, is_eager, length_of, same

if TYPE_CHECKING:
    from fairseq_posenc.attention.self_attention import LayersPass


@dataclass(frozen=True)
class Sizes:
    """How much attention is computed at once, in numbers.

    Args:
        whole: queries and keys are taken whole while what is added to the scores has at most this many; the layers of
            a pass can then share it.
        slice: otherwise in slices of queries with about this many.
        keys: blocks are taken together while their keys have at most this many.
    """

    whole: int
    slice: int
    keys: int


#: Larger pieces would leave the caches: 64 MiB in fp32 for what the layers share, 8 MiB for a slice and for keys.
CPU = Sizes(whole=2**24, slice=2**21, keys=2**21)
#: A GPU is idle between small pieces: 256 MiB in fp16 for what the layers share, 128 MiB for a slice, all blocks.
GPU = Sizes(whole=2**27, slice=2**26, keys=2**62)


class AttentionCall:
    """One call of self-attention: softmax(scores/sqrt(D) + bias + mask) v.

    Args:
        encoding: a PositionEncoding, or None.
        pattern: of a causal stack, see patterns.py; None in one that is not causal.
        keys: the available Keys. The queries are the last of them.
        attn_mask: an additive mask (Tq, Tk) of another model, or None.
        dropout: of the attention weights.
        device: of queries and keys.
        shared: the LayersPass in which layers, which have the same padding, leave what they add to the scores; None:
            they share nothing.
        recomputed: whether activation checkpointing computes all of this once more in the backward pass.
        numbers: by which the encoding compares all columns, where ``--positions`` gives them others than their indices.
        positions: (B or 1, Tq), of the queries in their own sentences; where ``encoding`` has a position_bias.
    """

    def __init__(
        self,
        encoding: PositionEncoding | None,
        pattern: Pattern | None,
        keys: Keys,
        attn_mask: torch.Tensor | None,
        dropout: float,
        device: torch.device,
        shared: "LayersPass | None",
        recomputed: bool = False,
        numbers: Positions | None = None,
        positions: torch.Tensor | None = None,
    ) -> None:
        self.encoding, self.pattern, self.attn_mask, self.dropout = encoding, pattern, attn_mask, dropout
        self.keys, self.device, self.shared, self.recomputed = keys, device, shared, recomputed
        self.numbers = numbers
        self.sizes = CPU if device.type == "cpu" else GPU
        self.biased = attn_mask is not None or self._adds_bias()
        self.plain = encoding is None or encoding.plain_products
        # No kernel for a CPU has dropout.
        self.fuses = self.plain and not (dropout > 0 and device.type == "cpu")
        self.q_positions = positions
        self.kv_positions: torch.Tensor | None = None
        if pattern is not None and pattern.counts_from_start and keys.padding is not None and not keys.sinks:
            self.kv_positions = keys.positions(device).index

    def with_weights(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, q_idx: range
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, H, Tq, D) and the weights (B, H, Tq, Tk), as memory allows."""
        return self._with_weights(q, k, v, q_idx, self.keys.columns)

    def __call__(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, q_idx: range) -> torch.Tensor:
        """q (B, H, Tq, D) at ``q_idx``, k and v (B, H, Tk, D) at all available keys -> (B, H, Tq, D)."""
        kv_idx = self._visible_range(q_idx)
        pattern = self.pattern
        block = pattern.block if pattern is not None and pattern.hides_any(q_idx, kv_idx) else None
        if pattern is not None and pattern.sinks and self.kv_positions is not None:
            block = None  # sinks in other columns for each sentence: all keys are needed
        if block is not None and self.attn_mask is None and length_of(q_idx) > block:
            if self._blocks_alike() and same(q_idx, self.keys.idx) and q_idx.start == 0:
                return self._in_blocks(q, k, v, block)
            return self._in_slices(q, k, v, q_idx, block, rebuild=False)
        if self._slices_alike(q_idx, kv_idx):
            bias = self.bias(range(q_idx.stop - 1, q_idx.stop), kv_idx)
            assert bias is not None
            return sliced.attention_by_distance(q, *self._select(k, v, kv_idx), bias)
        numbers = self._numbers_per_query(q, q_idx, kv_idx)
        if numbers * length_of(q_idx) > self.sizes.whole and self.attn_mask is None:
            return self._in_slices(q, k, v, q_idx, max(1, self.sizes.slice // numbers))
        if self._halves(q_idx, kv_idx):
            return self._in_slices(q, k, v, q_idx, sliced.ROWS, rebuild=False, share=True)
        return self._tile(q, *self._select(k, v, kv_idx), q_idx, kv_idx)

    def scores(
        self, q: torch.Tensor, k: torch.Tensor, q_idx: range
    ) -> Iterator[tuple[range, range, torch.Tensor, torch.Tensor | None]]:
        """The argument of the softmax, one slice of queries at a time, for analyses. ``q`` and ``k``: as in __call__.

        Yields:
            Indices of the queries and of the keys, scores (B, H, Tq, Tk) in fp32 or better, with the bias but not the
            mask, and where queries attend: bool, broadcastable to the scores, or None for everywhere.
        """
        size = max(1, self.sizes.slice // (q.size(0) * q.size(1) * length_of(self.keys.idx)))
        for start in range(0, length_of(q_idx), size):
            slice_idx = range(q_idx.start + start, min(q_idx.start + start + size, q_idx.stop))
            kv_idx = self._visible_range(slice_idx)
            if isinstance(kv_idx, Runs):  # one run for all analyses
                kv_idx = range(kv_idx.stop)
            some_q, (some_k, _) = q[:, :, start : start + size], self._select(k, k, kv_idx)
            if self.encoding is not None:
                some_q, some_k = self.encoding.decay(some_q, some_k, *self._placed(slice_idx, kv_idx))
            bias = self.bias(slice_idx, kv_idx)
            head_dim = q.size(-1) if self.encoding is None else self.encoding.stack.head_dim
            scores = scaled_products(some_q, some_k, head_dim, self._own_scores(slice_idx, kv_idx))
            scores = scores if bias is None else scores + bias
            yield slice_idx, kv_idx, scores, self._visible(slice_idx, kv_idx)

    def _visible_range(self, q_idx: range) -> Columns:
        """The available keys that some of these queries can see; all of them where ``attn_mask`` is there."""
        idx, pattern = self.keys.idx, self.pattern
        if self.attn_mask is not None or pattern is None:
            return self.keys.columns
        if pattern.sinks:
            first = pattern.first_visible(q_idx.start)
            if self.kv_positions is not None or (first <= pattern.sinks and not self.keys.sinks):
                return range(q_idx.stop)
            return Runs(pattern.sinks, range(max(idx.start, first), q_idx.stop))
        # Where sentences begin in different columns, so do their blocks, and only their left context is common to all.
        if self.kv_positions is None:
            first = pattern.first_visible(q_idx.start)
        else:
            first = idx.start if pattern.left_context is None else q_idx.start - pattern.left_context
        return range(max(idx.start, first), q_idx.stop)

    def _slices_alike(self, q_idx: range, kv_idx: Columns) -> bool:
        """Whether what a CPU adds to the scores of some queries is what it adds to all others, further to the right."""
        if self.device.type != "cpu" or not is_eager() or not self.fuses or not self._adds_bias():
            return False
        if self.pattern is None or self.pattern.hides_any(q_idx, kv_idx) or self.attn_mask is not None:
            return False
        assert self.encoding is not None
        return self._blocks_alike() and not self.encoding.overrides("decay") and length_of(q_idx) > sliced.ROWS

    def _halves(self, q_idx: range, kv_idx: Columns) -> bool:
        """Whether products in slices, each with the keys that it sees, leave out about half of them on a CPU."""
        if self.pattern is None or self.fuses or not isinstance(kv_idx, range):
            return False
        on_cpu = self.device.type == "cpu" and is_eager()
        return on_cpu and same(q_idx, kv_idx) and length_of(q_idx) > sliced.ROWS

    def _fuses_halves(self, q_idx: range, kv_idx: Columns) -> bool:
        """Whether a kernel for a CPU, given a mask, may leave out the keys after those queries, about half of them."""
        if self.pattern is None or not self.fuses or not isinstance(kv_idx, range) or self.attn_mask is not None:
            return False
        full = not self.pattern.hides_any(q_idx, kv_idx) and q_idx.stop == kv_idx.stop
        return full and is_eager() and length_of(q_idx) > sliced.ROWS

    def _blocks_alike(self) -> bool:
        """Whether nothing tells one block of queries from another but who sees whom."""
        alike = self.keys.padding is None and self.numbers is None and self.q_positions is None
        return alike and not (self.pattern and self.pattern.sinks)

    def _select(self, k: torch.Tensor, v: torch.Tensor, kv_idx: Columns) -> tuple[torch.Tensor, torch.Tensor]:
        """Those of all available keys and values that lie in ``kv_idx``."""
        if isinstance(kv_idx, Runs) and kv_idx == self.keys.columns:
            return k, v
        start = kv_idx.start - self.keys.idx.start + self.keys.sinks
        part = slice(start, start + kv_idx.stop - kv_idx.start)
        if isinstance(kv_idx, Runs):
            k, v = (torch.cat([x[:, :, : kv_idx.sinks], x[:, :, part]], dim=2) for x in (k, v))
            return k, v
        return k[:, :, part], v[:, :, part]

    def _numbers_per_query(self, q: torch.Tensor, q_idx: range, kv_idx: Columns) -> int:
        """Numbers per query of the memory that grows with queries x keys."""
        if not self.fuses or self._lacks_bias_gradient():
            return q.size(0) * q.size(1) * count_of(kv_idx)
        if self._plain_causal(q_idx, kv_idx):
            return 0
        own = self.keys.padding is not None or (self.numbers is not None and self.biased)
        sentences = q.size(0) if own else 1
        return sentences * (q.size(1) if self.biased else 1) * count_of(kv_idx)

    def _plain_causal(self, q_idx: range, kv_idx: Columns) -> bool:
        """Whether PyTorch's kernel makes the whole mask itself."""
        if isinstance(kv_idx, Runs):
            return False
        causal = self.pattern is not None and not self.pattern.hides_any(q_idx, kv_idx)
        return causal and not self.biased and self.keys.padding is None and same(q_idx, kv_idx)

    def _in_slices(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        q_idx: range,
        size: int,
        rebuild: bool = True,
        share: bool = False,
    ) -> torch.Tensor:
        """``size`` queries at a time, each slice with the keys that it can see.

        Args:
            rebuild: the backward pass keeps nothing that has a number for each query and key.
            share: layers share what they add to the scores of a slice.
        """
        rebuild = rebuild and torch.is_grad_enabled() and is_eager()
        attend: Callable[..., torch.Tensor] = self._rebuilt_slice if rebuild else self._tile
        parts = []
        # The last slices see most keys. After them, all others fit into the memory that they give back.
        for start in reversed(range(0, length_of(q_idx), size)):
            slice_idx = range(q_idx.start + start, min(q_idx.start + start + size, q_idx.stop))
            kv_idx = self._visible_range(slice_idx)
            part = q[:, :, start : start + size], *self._select(k, v, kv_idx)
            parts.append(attend(*part, slice_idx, kv_idx, share=share))
        return torch.cat(parts[::-1], dim=2)

    def _rebuilt_slice(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, q_idx: range, kv_idx: Columns, share: bool
    ) -> torch.Tensor:
        """A tile of which the backward pass builds anew what has a number for each query and key."""
        if self.recomputed or not self.fuses:
            compute = partial(self._tile, q_idx=q_idx, kv_idx=kv_idx, share=share)
            return checkpoint(compute, q, k, v, use_reentrant=False, preserve_rng_state=self.dropout > 0)
        # Not what a fused kernel computes: only what it is given.
        return self._tile(q, k, v, q_idx, kv_idx, share, rebuild=True)

    def _lacks_bias_gradient(self) -> bool:
        """Whether what is added to the scores needs a gradient, which no kernel for a CPU computes."""
        if self.device.type != "cpu" or self.encoding is None or not self._adds_bias():
            return False
        return torch.is_grad_enabled() and any(x.requires_grad for x in self.encoding.parameters())

    def _adds_bias(self) -> bool:
        """Whether the encoding adds something to the scores."""
        encoding = self.encoding
        return encoding is not None and (encoding.overrides("bias") or encoding.overrides("position_bias"))

    def _in_blocks(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block: int) -> torch.Tensor:
        """Blocks of ``block`` queries side by side, each with its own block of keys and the one before.

        Only differences of indices matter to the hooks, so that every block of queries may stand for the
        second one. The first one has no block before it, and the last one may be filled up with zeros, which come
        after all that real queries can see.
        """
        length = q.size(2)
        parts = [self._tile(q[:, :, :block], k[:, :, :block], v[:, :, :block], range(block), range(block))]
        q_idx, kv_idx = range(block, 2 * block), range(2 * block)
        # Some blocks at a time: keys and values are there twice, and without a fused kernel so are the weights.
        numbers = q.size(0) * q.size(1) * 2 * block
        sizes = self.sizes
        group = max(1, sizes.keys // (numbers * q.size(3)) if self.fuses else sizes.whole // (numbers * block))
        for start in range(block, length, group * block):
            stop = min(start + group * block, length)
            missing = -stop % block
            own = [x[:, :, start:stop] for x in (q, k, v)]
            if missing:
                own = [F.pad(x, (0, 0, 0, missing)) for x in own]
            before = (x[:, :, start - block : stop + missing - block] for x in (k, v))
            q_blocks, *own = (blocks_of(x, block) for x in own)
            k_blocks, v_blocks = (torch.cat([blocks_of(x, block), y], dim=2) for x, y in zip(before, own))
            part = self._tile(q_blocks, k_blocks, v_blocks, q_idx, kv_idx)  # (B x blocks, H, block, D)
            part = part.unflatten(0, (q.size(0), -1)).transpose(1, 2).flatten(2, 3)
            parts.append(part[:, :, : stop - start])
        return torch.cat(parts, dim=2)

    def _tile(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        q_idx: range,
        kv_idx: Columns,
        share: bool = True,
        rebuild: bool = False,
    ) -> torch.Tensor:
        """Attention of these queries to these keys, all at once."""
        # With one query there is nothing to fuse: at a step of beam search the plain products are faster. So they are,
        # where memory allows and no keys are left out, than a backward pass that computes the weights once more.
        lacks_gradient, causal = self._lacks_bias_gradient(), self._fuses_halves(q_idx, kv_idx)
        if not self.plain or length_of(q_idx) == 1 or (lacks_gradient and not rebuild and not causal):
            return self._with_weights(q, k, v, q_idx, kv_idx, share)[0]
        if self.encoding is not None:
            q, k = self.encoding.decay(q, k, *self._placed(q_idx, kv_idx))
        if self._plain_causal(q_idx, kv_idx):
            return fused_attention(q, k, v, causal=True, dropout=self.dropout)
        mask = self._score_mask(q_idx, kv_idx, q.dtype, share)
        if mask is None:
            return fused_attention(q, k, v, dropout=self.dropout)
        build = partial(self._score_mask, q_idx, kv_idx, q.dtype, share)
        with rebuilt_for_backward(mask, build) if rebuild else nullcontext():
            if lacks_gradient:
                return sliced.attention_with_mask(q, k, v, mask, causal)
            return fused_attention(q, k, v, mask, dropout=self.dropout)

    def _with_weights(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, q_idx: range, kv_idx: Columns, share: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The same with plain products, which also return the weights."""
        mix = None
        if self.encoding is not None:
            queries, keys = self._placed(q_idx, kv_idx)
            q, k = self.encoding.decay(q, k, queries, keys)
            if not self.plain:
                mix = partial(self.encoding.mix, q_idx=queries, kv_idx=keys)
        mask = self._score_mask(q_idx, kv_idx, torch.float32, share)
        return weighted_attention(q, k, v, mask, self.dropout, self._own_scores(q_idx, kv_idx), mix)

    def _own_scores(self, q_idx: range, kv_idx: Columns) -> Products | None:
        """The encoding's products of queries and keys; None where they are plain ones."""
        if self.encoding is None or self.plain:
            return None
        if isinstance(kv_idx, Runs) and self.encoding.numbers == CONSECUTIVE:
            return partial(self._scores_of_runs, q_idx=q_idx, kv_idx=kv_idx)
        queries, keys = self._placed(q_idx, kv_idx)
        return partial(self.encoding.scores, q_idx=queries, kv_idx=keys)

    def _scores_of_runs(self, q: torch.Tensor, k: torch.Tensor, q_idx: range, kv_idx: Runs) -> torch.Tensor:
        """The encoding's products with the keys of both runs, each of which is consecutive."""
        assert self.encoding is not None
        runs = zip((k[:, :, : kv_idx.sinks], k[:, :, kv_idx.sinks :]), kv_idx.parts)
        return torch.cat([self.encoding.scores(q, part, q_idx, columns) for part, columns in runs], dim=-1)

    def _placed(self, q_idx: range, kv_idx: Columns) -> tuple[Idx, Idx]:
        """What the encoding's hooks are given for these columns."""
        encoding = self.encoding
        # With --full-context-alignment a causal stack sees later keys, of which ranges say that they are hidden.
        sees_later = self.pattern is None and encoding is not None and encoding.stack.causal
        as_ranges = not sees_later or self.plain or encoding is None or encoding.numbers == CONSECUTIVE
        if self.numbers is None and isinstance(kv_idx, range) and as_ranges:
            return q_idx, kv_idx
        return self._numbers_of(q_idx), self._numbers_of(kv_idx)

    def _numbers_of(self, columns: Columns) -> Positions:
        if self.numbers is not None and isinstance(columns, range):
            return self.numbers.columns(columns)
        index = column_tensor(columns, self.device)
        if self.numbers is None:
            return Positions(index.unsqueeze(0), columns.stop)
        return Positions(self.numbers.index[:, index], self.numbers.stop)

    def bias(self, q_idx: range, kv_idx: Columns) -> torch.Tensor | None:
        """What the encoding adds to the scores: (B or 1, H, Tq, Tk), as some fused kernels take no three dimensions."""
        if self.encoding is None:
            return None
        if isinstance(kv_idx, Runs) and self.numbers is None:  # each run is consecutive
            parts = [bias for part in kv_idx.parts if (bias := self.bias(q_idx, part)) is not None]
            return torch.cat(parts, dim=-1) if parts else None
        bias = self.encoding.bias(*self._placed(q_idx, kv_idx), self.device)
        if bias is not None and bias.dim() == 3:
            bias = bias.unsqueeze(0)
        if self.q_positions is None or not isinstance(kv_idx, range):
            return bias
        start = q_idx.start - self.keys.idx.stop + self.q_positions.size(1)
        positions = self.q_positions[:, start : start + length_of(q_idx)]
        own = self.encoding.position_bias(positions, q_idx, kv_idx)
        return own if bias is None else bias if own is None else bias + own

    def _visible(self, q_idx: range, kv_idx: Columns) -> torch.Tensor | None:
        """visible_keys of a part of the available keys, or of any two ranges where there is no padding."""
        padding, positions = self.keys.padding, self.kv_positions
        if padding is not None and (isinstance(kv_idx, Runs) or not same(kv_idx, self.keys.idx)):
            start = kv_idx.start - self.keys.idx.start
            part = slice(start, start + kv_idx.stop - kv_idx.start)
            padding, positions = padding[:, part], None if positions is None else positions[:, part]
            if isinstance(kv_idx, Runs):
                padding = F.pad(padding, (kv_idx.sinks, 0))
        return visible_keys(q_idx, kv_idx, self.pattern, padding, self.device, positions)

    def _score_mask(self, q_idx: range, kv_idx: Columns, dtype: torch.dtype, share: bool) -> torch.Tensor | None:
        """All that is added to the scores, or None; built once for all layers of a pass that ask for the same."""
        build = partial(self._build_score_mask, q_idx, kv_idx, dtype)
        if not share or self.shared is None or self.attn_mask is not None:
            return build()
        return self.shared.once((self.encoding, self.pattern, q_idx, kv_idx, dtype), build)

    def _build_score_mask(self, q_idx: range, kv_idx: Columns, dtype: torch.dtype) -> torch.Tensor | None:
        bias = self.bias(q_idx, kv_idx)
        if self.attn_mask is not None:
            bias = self.attn_mask[None, None] if bias is None else bias + self.attn_mask[None, None]
        return additive(self._visible(q_idx, kv_idx), bias, dtype)


def blocks_of(x: torch.Tensor, block: int) -> torch.Tensor:
    """(B, H, T, D) -> (B x T / block, H, block, D)."""
    return x.unflatten(2, (-1, block)).transpose(1, 2).flatten(0, 1)
