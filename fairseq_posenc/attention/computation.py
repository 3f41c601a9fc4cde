"""Attention under a pattern, through every hook of an encoding: whole, in slices of queries, or in blocks.

Memory stays linear in the length where no weights are asked for, in training too: what is added to the scores never
has (H, L, L) numbers for a long L, and slices are computed once more in the backward pass instead of being kept.
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from fairseq_posenc.attention.kernels import (
    fused_attention,
    fused_attention_with_bias_gradient,
    rebuilt_for_backward,
    scaled_products,
    weighted_attention,
)
from fairseq_posenc.attention.masks import additive, hides_something, visible_keys
from fairseq_posenc.encodings.positions import can_look, length_of, same


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


#: Larger pieces would leave the caches: 64 MiB in fp32 for what the layers share, 16 MiB for a slice, 8 MiB for keys.
CPU = Sizes(whole=2**24, slice=2**22, keys=2**21)
#: A GPU is idle between small pieces: 256 MiB in fp16 for what the layers share, 128 MiB for a slice, all blocks.
GPU = Sizes(whole=2**27, slice=2**26, keys=2**62)


class Attending:
    """One call of self-attention: softmax(scores/sqrt(D) + bias + mask) v.

    Args:
        encoding: a PositionEncoding, or None.
        pattern: of a causal stack, see patterns.py; None in one that is not causal.
        keys: the Keys at hand. The queries are the last of them.
        given: an additive mask (Tq, Tk) of another model, or None.
        dropout: of the attention weights.
        device: of queries and keys.
        shared: the LayersPass in which layers, which have the same padding, leave what they add to the scores; None:
            they share nothing.
        recomputed: whether activation checkpointing computes all of this once more in the backward pass.
    """

    def __init__(self, encoding, pattern, keys, given, dropout, device, shared, recomputed=False):
        self.encoding, self.pattern, self.given, self.dropout = encoding, pattern, given, dropout
        self.keys, self.device, self.shared, self.recomputed = keys, device, shared, recomputed
        self.sizes = CPU if device.type == "cpu" else GPU
        self.biased = given is not None or (encoding is not None and encoding.overrides("bias"))
        self.plain = encoding is None or encoding.plain_products
        # No kernel for a CPU has dropout.
        self.fuses = self.plain and not (dropout > 0 and device.type == "cpu")
        self.positions = None
        if pattern is not None and pattern.counts_from_start and keys.padding is not None:
            self.positions = keys.positions(device).index

    def weighted(self, q, k, v, q_columns):
        """(B, H, Tq, D) and the weights (B, H, Tq, Tk), as memory allows."""
        return self._weighted(q, k, v, q_columns, self.keys.columns)

    def __call__(self, q, k, v, q_columns):
        """q (B, H, Tq, D) at ``q_columns``, k and v (B, H, Tk, D) at all keys at hand -> (B, H, Tq, D)."""
        k_columns = self._needed(q_columns)
        hides = self.pattern is not None and hides_something(q_columns, k_columns, self.pattern)
        if hides and self.given is None and length_of(q_columns) > self.pattern.block:
            if self.keys.padding is None and same(q_columns, self.keys.columns) and q_columns.start == 0:
                return self._in_blocks(q, k, v)
            return self._in_slices(q, k, v, q_columns, self.pattern.block, rebuild=False)
        numbers = self._numbers_a_query(q, q_columns, k_columns)
        if numbers * length_of(q_columns) > self.sizes.whole and self.given is None:
            return self._in_slices(q, k, v, q_columns, max(1, self.sizes.slice // numbers))
        return self._rectangle(q, *self._cut(k, v, k_columns), q_columns, k_columns)

    def scores(self, q, k, q_columns):
        """What the softmax is taken of, a slice of queries at a time.

        Args:
            q, k: as in __call__.

        Yields:
            (q_columns, k_columns, scores (B, H, Tq, Tk) with the bias, visible): ``visible``, broadcastable to the
            scores, says where a query attends; None: everywhere.
        """
        size = max(1, self.sizes.slice // (q.size(0) * q.size(1) * length_of(self.keys.columns)))
        for start in range(0, length_of(q_columns), size):
            columns = range(q_columns.start + start, min(q_columns.start + start + size, q_columns.stop))
            needed = self._needed(columns)
            part = q[:, :, start : start + size], self._cut(k, k, needed)[0]
            if self.encoding is not None:
                part = self.encoding.decay(*part, columns, needed)
            found = scaled_products(*part, self._own_scores(columns, needed))
            bias = None if self.encoding is None else self.encoding.bias(columns, needed, self.device)
            yield columns, needed, found if bias is None else found + bias, self._visible(columns, needed)

    def _needed(self, q_columns):
        """The keys at hand that some of these queries can see: none are left out where a mask was given."""
        columns, pattern = self.keys.columns, self.pattern
        if self.given is not None or pattern is None:
            return columns
        # Where sentences begin in different columns, so do their blocks, and only their reach is common to all.
        first = pattern.first_visible(q_columns.start) if self.positions is None else q_columns.start - pattern.reach
        return range(max(columns.start, first), q_columns.stop)

    def _cut(self, k, v, k_columns):
        """The part of all keys and values at hand that lies in ``k_columns``."""
        start = k_columns.start - self.keys.columns.start
        part = slice(start, start + length_of(k_columns))
        return k[:, :, part], v[:, :, part]

    def _numbers_a_query(self, q, q_columns, k_columns):
        """How many numbers a query adds to the memory that grows with queries x keys."""
        if not self.fuses or self._lacks_bias_gradient():
            return q.size(0) * q.size(1) * length_of(k_columns)
        if self._plain_causal(q_columns, k_columns):
            return 0
        sentences = 1 if self.keys.padding is None else q.size(0)
        return sentences * (q.size(1) if self.biased else 1) * length_of(k_columns)

    def _plain_causal(self, q_columns, k_columns):
        """Whether PyTorch's kernel makes the whole mask itself."""
        causal = self.pattern is not None and not hides_something(q_columns, k_columns, self.pattern)
        return causal and not self.biased and self.keys.padding is None and same(q_columns, k_columns)

    def _in_slices(self, q, k, v, q_columns, size, rebuild=True):
        """``size`` queries at a time, each slice with the keys that it can see.

        ``rebuild``: the backward pass keeps nothing that has a number for each query and key.
        """
        attend = self._rebuilt_slice if rebuild and torch.is_grad_enabled() and can_look() else self._rectangle
        parts = []
        for start in range(0, length_of(q_columns), size):
            columns = range(q_columns.start + start, min(q_columns.start + start + size, q_columns.stop))
            needed = self._needed(columns)
            part = q[:, :, start : start + size], *self._cut(k, v, needed)
            parts.append(attend(*part, columns, needed, share=False))
        return torch.cat(parts, dim=2)

    def _rebuilt_slice(self, q, k, v, q_columns, k_columns, share):
        """A rectangle of which the backward pass builds anew what has a number for each query and key."""
        if self.recomputed or not self.fuses:
            compute = partial(self._rectangle, q_columns=q_columns, k_columns=k_columns, share=share)
            return checkpoint(compute, q, k, v, use_reentrant=False, preserve_rng_state=self.dropout > 0)
        # Not what a fused kernel computes: only what it is given.
        return self._rectangle(q, k, v, q_columns, k_columns, share, rebuild=True)

    def _lacks_bias_gradient(self):
        """Whether what is added to the scores needs a gradient, which no kernel for a CPU computes."""
        if self.device.type != "cpu" or self.encoding is None or not self.encoding.overrides("bias"):
            return False
        return torch.is_grad_enabled() and any(x.requires_grad for x in self.encoding.parameters())

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
            both = (torch.cat([blocks_of(x, block), y], dim=2) for x, y in zip(before, own))
            part = self._rectangle(q_blocks, *both, *columns)  # (B x blocks, H, block, D)
            part = part.unflatten(0, (q.size(0), -1)).transpose(1, 2).flatten(2, 3)
            parts.append(part[:, :, : stop - start])
        return torch.cat(parts, dim=2)

    def _rectangle(self, q, k, v, q_columns, k_columns, share=True, rebuild=False):
        """These queries with these keys, all at once."""
        # With one query there is nothing to fuse: at a step of beam search the plain products are faster. So they are,
        # where memory allows, than a backward pass that computes the weights once more.
        lacks_gradient = self._lacks_bias_gradient()
        if not self.plain or length_of(q_columns) == 1 or (lacks_gradient and not rebuild):
            return self._weighted(q, k, v, q_columns, k_columns, share)[0]
        if self.encoding is not None:
            q, k = self.encoding.decay(q, k, q_columns, k_columns)
        if self._plain_causal(q_columns, k_columns):
            return fused_attention(q, k, v, causal=True, dropout=self.dropout)
        mask = self._added(q_columns, k_columns, q.dtype, share)
        if not rebuild or mask is None:
            return fused_attention(q, k, v, mask, dropout=self.dropout)
        with rebuilt_for_backward(mask, partial(self._added, q_columns, k_columns, q.dtype, share)):
            if lacks_gradient:
                return fused_attention_with_bias_gradient(q, k, v, mask)
            return fused_attention(q, k, v, mask, dropout=self.dropout)

    def _weighted(self, q, k, v, q_columns, k_columns, share=True):
        """The same with plain products, which also return the weights."""
        mix = None
        if self.encoding is not None:
            q, k = self.encoding.decay(q, k, q_columns, k_columns)
        if not self.plain:
            mix = partial(self.encoding.mix, q_columns=q_columns, k_columns=k_columns)
        mask = self._added(q_columns, k_columns, torch.float32, share)
        return weighted_attention(q, k, v, mask, self.dropout, self._own_scores(q_columns, k_columns), mix)

    def _own_scores(self, q_columns, k_columns):
        """The encoding's products of queries and keys, None where they are plain ones."""
        return None if self.plain else partial(self.encoding.scores, q_columns=q_columns, k_columns=k_columns)

    def _visible(self, q_columns, k_columns):
        """visible_keys of a part of the keys at hand, or of any two ranges where there is no padding."""
        padding, positions = self.keys.padding, self.positions
        if padding is not None and not same(k_columns, self.keys.columns):
            start = k_columns.start - self.keys.columns.start
            part = slice(start, start + length_of(k_columns))
            padding, positions = padding[:, part], None if positions is None else positions[:, part]
        return visible_keys(q_columns, k_columns, self.pattern, padding, self.device, positions)

    def _added(self, q_columns, k_columns, dtype, share):
        """All that is added to the scores, or None; built once for all layers of a pass that ask for the same."""
        build = partial(self._build_added, q_columns, k_columns, dtype)
        if not share or self.shared is None or self.given is not None:
            return build()
        return self.shared.once((self.encoding, self.pattern, q_columns, k_columns, dtype), build)

    def _build_added(self, q_columns, k_columns, dtype):
        bias = None if self.encoding is None else self.encoding.bias(q_columns, k_columns, self.device)
        if bias is not None:
            bias = bias.unsqueeze(0)  # some fused kernels take no mask of three dimensions
        if self.given is not None:
            bias = self.given[None, None] if bias is None else bias + self.given[None, None]
        return additive(self._visible(q_columns, k_columns), bias, dtype)


def blocks_of(x, block):
    """(B, H, T, D) -> (B x T / block, H, block, D)."""
    return x.unflatten(2, (-1, block)).transpose(1, 2).flatten(0, 1)
