"""Attention under a pattern, through every hook of an encoding: whole, in slices of queries, or in blocks.

Memory stays linear in the length where no weights are asked for: what is added to the scores never has (H, L, L)
numbers for a long L.
"""

from functools import partial

import torch
from torch.nn import functional as F

from fairseq_posenc.attention.kernels import fused_attention, weighted_attention
from fairseq_posenc.attention.masks import additive, hides_something, visible_keys

#: Queries and keys are taken whole while what is added to the scores has at most this many numbers (64 MiB in fp32);
#: the layers of a pass can then share it.
WHOLE = 2**24
#: Otherwise in slices of queries with about this many, which costs no more time from there on: slices leave out later
#: keys. The bias of a slice and its copies are some 50 MiB.
SLICE = 2**22
#: Blocks are taken together while their keys have at most this many numbers (8 MiB in fp32): more would leave a CPU's
#: caches, and time would grow faster than the length.
KEYS = 2**21


class Attending:
    """One call of self-attention: softmax(scores/sqrt(D) + bias + mask) v.

    Args:
        encoding: a PositionEncoding, or None.
        pattern: of a causal stack, see patterns.py; None in one that is not causal.
        keys: the Keys at hand. The queries are the last of them.
        given: an additive mask (Tq, Tk) of another model, or None.
        dropout: of the attention weights.
        device: of queries and keys.
        shared: a list in which the layers of a pass, which have the same padding, leave what they add to the scores;
            None: they share nothing.
    """

    def __init__(self, encoding, pattern, keys, given, dropout, device, shared):
        self.encoding, self.pattern, self.given, self.dropout = encoding, pattern, given, dropout
        self.keys, self.device, self.shared = keys, device, shared
        self.biased = given is not None or (encoding is not None and encoding.overrides("bias"))
        self.fuses = encoding is None or encoding.plain_products
        self.positions = None
        if pattern is not None and pattern.counts_from_start and keys.padding is not None:
            positions = keys.positions(device)
            self.positions = positions if positions.size(0) > 1 else None

    def weighted(self, q, k, v, q_columns):
        """(B, H, Tq, D) and the weights (B, H, Tq, Tk), as memory allows."""
        return self._weighted(q, k, v, q_columns, self.keys.columns)

    def __call__(self, q, k, v, q_columns):
        """q (B, H, Tq, D) at ``q_columns``, k and v (B, H, Tk, D) at all keys at hand -> (B, H, Tq, D)."""
        k_columns = self._needed(q_columns)
        hides = self.pattern is not None and hides_something(q_columns, k_columns, self.pattern)
        if hides and self.given is None and len(q_columns) > self.pattern.block:
            if self.keys.padding is None and q_columns == self.keys.columns and q_columns.start == 0:
                return self._in_blocks(q, k, v)
            return self._in_slices(q, k, v, q_columns, self.pattern.block)
        numbers = self._numbers_a_query(q, q_columns, k_columns)
        if numbers * len(q_columns) > WHOLE and self.given is None:
            return self._in_slices(q, k, v, q_columns, max(1, SLICE // numbers))
        return self._rectangle(q, *self._cut(k, v, k_columns), q_columns, k_columns)

    def _needed(self, q_columns):
        """The keys at hand that some of these queries can see: none are left out where a mask was given."""
        columns, pattern = self.keys.columns, self.pattern
        if self.given is not None or pattern is None:
            return columns
        # Where sentences begin in different columns, so do their blocks, and only their reach is common to all.
        first = pattern.first_visible(q_columns[0]) if self.positions is None else q_columns[0] - pattern.reach
        return range(max(columns.start, first), q_columns.stop)

    def _cut(self, k, v, k_columns):
        """The part of all keys and values at hand that lies in ``k_columns``."""
        start = k_columns.start - self.keys.columns.start
        part = slice(start, start + len(k_columns))
        return k[:, :, part], v[:, :, part]

    def _numbers_a_query(self, q, q_columns, k_columns):
        """How many numbers a query adds to the memory that grows with queries x keys."""
        if not self.fuses:
            return q.size(0) * q.size(1) * len(k_columns)
        if self._plain_causal(q_columns, k_columns):
            return 0
        return (1 if self.keys.padding is None else q.size(0)) * (q.size(1) if self.biased else 1) * len(k_columns)

    def _plain_causal(self, q_columns, k_columns):
        """Whether PyTorch's kernel makes the whole mask itself."""
        causal = self.pattern is not None and not hides_something(q_columns, k_columns, self.pattern)
        return causal and not self.biased and self.keys.padding is None and q_columns == k_columns

    def _in_slices(self, q, k, v, q_columns, size):
        """``size`` queries at a time, each slice with the keys that it can see."""
        parts = []
        for start in range(0, len(q_columns), size):
            columns = q_columns[start : start + size]
            needed = self._needed(columns)
            part = q[:, :, start : start + size], *self._cut(k, v, needed)
            parts.append(self._rectangle(*part, columns, needed, share=False))
        return torch.cat(parts, dim=2)

    def _in_blocks(self, q, k, v):
        """Blocks of queries side by side, each with its own block of keys and the one before.

        Only columns relative to each other matter to the hooks, so that every block of queries may stand for the
        second one. The first one has no block before it, and the last one may be filled up with zeros, which come
        after all that real queries can see.
        """
        block, length = self.pattern.block, q.size(2)
        parts = [self._rectangle(*(x[:, :, :block] for x in (q, k, v)), range(block), range(block))]
        columns = range(block, 2 * block), range(2 * block)
        # Some blocks at a time: keys and values are there twice, and without a fused kernel so are the weights.
        numbers = q.size(0) * q.size(1) * 2 * block
        group = max(1, KEYS // (numbers * q.size(3)) if self.fuses else WHOLE // (numbers * block))
        for start in range(block, length, group * block):
            stop = min(start + group * block, length)
            missing = -stop % block
            own = [x[:, :, start:stop] for x in (q, k, v)]
            if missing:
                own = [F.pad(x, (0, 0, 0, missing)) for x in own]
            before = (x[:, :, start - block : stop + missing - block] for x in (k, v))
            q_blocks, *own = (blocks_of(x, block) for x in own)
            both = (torch.cat([blocks_of(x, block), y], dim=2) for x, y in zip(before, own))
            part = self._rectangle(q_blocks, *both, *columns)  # (B x blocks, H, block, D)
            part = part.unflatten(0, (q.size(0), -1)).transpose(1, 2).flatten(2, 3)
            parts.append(part[:, :, : stop - start])
        return torch.cat(parts, dim=2)

    def _rectangle(self, q, k, v, q_columns, k_columns, share=True):
        """These queries with these keys, all at once."""
        # With one query there is nothing to fuse: at a step of beam search the plain products are faster.
        if not self.fuses or len(q_columns) == 1:
            return self._weighted(q, k, v, q_columns, k_columns, share)[0]
        if self.encoding is not None:
            q, k = self.encoding.decay(q, k, q_columns, k_columns)
        if self._plain_causal(q_columns, k_columns):
            return fused_attention(q, k, v, causal=True, dropout=self.dropout)
        mask = self._added(q_columns, k_columns, q.dtype, share) if self.biased else self._visible(q_columns, k_columns)
        if mask is not None and mask.requires_grad and not mask.is_cuda:
            # No kernel for a CPU has a gradient of the mask, and PyTorch's own products are slower.
            return weighted_attention(q, k, v, mask, self.dropout)[0]
        return fused_attention(q, k, v, mask, dropout=self.dropout)

    def _weighted(self, q, k, v, q_columns, k_columns, share=True):
        """The same with plain products, which also return the weights."""
        scores = mix = None
        if self.encoding is not None:
            q, k = self.encoding.decay(q, k, q_columns, k_columns)
        if not self.fuses:
            scores = partial(self.encoding.scores, q_columns=q_columns, k_columns=k_columns)
            mix = partial(self.encoding.mix, q_columns=q_columns, k_columns=k_columns)
        mask = self._added(q_columns, k_columns, torch.float32, share)
        return weighted_attention(q, k, v, mask, self.dropout, scores, mix)

    def _visible(self, q_columns, k_columns):
        """visible_keys of a part of the keys at hand, or of any two ranges where there is no padding."""
        padding, positions = self.keys.padding, self.positions
        if padding is not None and k_columns != self.keys.columns:
            start = k_columns.start - self.keys.columns.start
            part = slice(start, start + len(k_columns))
            padding, positions = padding[:, part], None if positions is None else positions[:, part]
        return visible_keys(q_columns, k_columns, self.pattern, padding, self.device, positions)

    def _added(self, q_columns, k_columns, dtype, share):
        """All that is added to the scores, or None; built once for all layers of a pass that ask for the same."""
        shared = self.shared if share and self.given is None else None
        key = (self.encoding, self.pattern, q_columns, k_columns, dtype)
        for known, added in shared or ():
            if known == key:
                return added
        bias = None if self.encoding is None else self.encoding.bias(q_columns, k_columns, self.device)
        if bias is not None:
            bias = bias.unsqueeze(0)  # some fused kernels take no mask of three dimensions
        if self.given is not None:
            bias = self.given[None, None] if bias is None else bias + self.given[None, None]
        added = additive(self._visible(q_columns, k_columns), bias, dtype)
        if shared is not None:
            shared.append((key, added))
        return added


def blocks_of(x, block):
    """(B, H, T, D) -> (B x T / block, H, block, D)."""
    return x.unflatten(2, (-1, block)).transpose(1, 2).flatten(0, 1)
