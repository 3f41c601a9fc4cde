"""A drop-in for fairseq's self-attention that calls a positional encoding."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from fairseq.modules import MultiheadAttention
from torch.autograd.graph import saved_tensors_hooks

from fairseq_posenc.attention.computation import AttentionCall
from fairseq_posenc.attention.hypotheses import Ancestors, by_sentence
from fairseq_posenc.attention.kernels import weighted_attention
from fairseq_posenc.attention.keys import (
    Buffer,
    IncrementalState,
    Keys,
    appended,
    cache_of,
    read_cache,
    reorder,
    with_sinks,
)
from fairseq_posenc.attention.masks import additive
from fairseq_posenc.attention.packed_weights import PackedWeights, is_plain
from fairseq_posenc.attention.patterns import FULL, Pattern, Window
from fairseq_posenc.attention.scales import Scale
from fairseq_posenc.encodings.base import PositionEncoding
from fairseq_posenc.encodings.positions import Positions, is_eager, length_of

#: The layers that make queries, keys and values.
PROJECTIONS = ("q_proj", "k_proj", "v_proj")

#: Passed as ``attn_mask``: hide later keys. Stands for the L x L matrix that stock fairseq builds.
CAUSAL = torch.empty(0)


class SelfAttention(MultiheadAttention):
    """Multi-head self-attention with the hooks of a positional encoding, under an attention pattern.

    Signature and parameter names are those of fairseq's MultiheadAttention, so that layers, checkpoints and beam
    search work unchanged. The cache of incremental decoding holds no more than the pattern needs.
    """

    def __init__(self, embed_dim: int, heads: int, scale: Scale | None = None, **options: Any) -> None:
        super().__init__(embed_dim, heads, self_attention=True, **options)
        self.scale = scale
        self.learned_scale = None if scale is None else scale.parameter(heads)
        self._encoding: tuple[PositionEncoding | None] = (None,)
        #: None, or the weights of the projections side by side, for one product instead of three.
        self.packed_projections: PackedWeights | None = None
        #: The LayersPass that this attention is part of, if any.
        self.layers_pass: LayersPass | None = None
        #: Whether activation checkpointing computes this attention once more in the backward pass.
        self.recomputed = False
        #: None, or what is called with every AttentionCall, its queries, its keys and ``q_idx``; for analyses.
        self.observer: Callable[[AttentionCall, torch.Tensor, torch.Tensor, range], None] | None = None
        self.pattern: Pattern = FULL
        self.stepwise_pattern: Pattern = FULL

    @property
    def position_encoding(self) -> PositionEncoding | None:
        """None, or the PositionEncoding that acts here. It belongs to the stack of layers, which may share it."""
        return self._encoding[0]

    def attach(self, encoding: PositionEncoding | None) -> None:
        """Use this encoding (None: none) from now on."""
        # In a tuple, where PyTorch sees no submodule: a checkpoint holds a shared encoding once, not once a layer.
        self._encoding = (encoding,)

    @contextmanager
    def within(self, layers_pass: "LayersPass | None") -> Iterator[None]:
        """While inside, be part of this LayersPass (None: of none)."""
        before, self.layers_pass = self.layers_pass, layers_pass
        try:
            yield
        finally:
            self.layers_pass = before

    def use_pattern(self, pattern: Pattern, cache_size: int | None = None) -> None:
        """Attend by ``pattern`` where later keys are hidden.

        ``cache_size``: step by step, attend to the newest so many keys only (Chi et al. 2023, Appendix B). That equals
        one pass under the pattern ``window:<cache_size>``.
        """
        self.pattern = pattern
        self.stepwise_pattern = pattern if cache_size is None else Window(cache_size)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor | None = None,
        value: torch.Tensor | None = None,
        key_padding_mask: torch.Tensor | None = None,
        incremental_state: IncrementalState | None = None,
        need_weights: bool = True,
        static_kv: bool = False,
        attn_mask: torch.Tensor | None = None,
        before_softmax: bool = False,
        need_head_weights: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Attend from every position of ``query`` (T, B, C) to itself and, with a cache, to all earlier positions.

        Args:
            key, value: ignored, as in fairseq's own self-attention: they are the query.
            key_padding_mask: (B, T), True at padding, for the columns of ``query`` only.
            incremental_state: the cache of a decoder; later keys are then hidden among the new queries.
            need_weights, need_head_weights: also return the weights, (B, T, S) averaged or (H, B, T, S), S the number
                of available keys.
            attn_mask: None, CAUSAL, or a (T, S) mask as fairseq's: additive, or boolean with True at hidden keys.

        Returns:
            (T, B, C), and the weights or None.
        """
        if static_kv or before_softmax:
            raise ValueError("static_kv and before_softmax belong to cross-attention")
        length, batch, _ = query.shape
        cache = self._get_input_buffer(incremental_state)
        if cache and self.layers_pass is not None and self.layers_pass.ancestors is not None:
            return self._attend_to_ancestors(query, cache, self.layers_pass.ancestors), None
        q, k, v = self._project(query)

        keys = read_cache(cache).extended(length, key_padding_mask, batch, query.device)
        q_idx = range(keys.idx.stop - length, keys.idx.stop)
        encoding, numbers = self.position_encoding, self._numbers()
        # A window of one token keeps no keys, and needs none.
        last = cache["prev_key"][:, :, -1:] if cache and cache["prev_key"].size(2) else None
        q, k, v, q_positions = self._encoded(query, (q, k, v), keys, q_idx, last)

        pattern, added_mask = None, None
        if incremental_state is not None:
            pattern = self.stepwise_pattern
            k, v, store = appended(cache, k, v)
            count = pattern.left_context
            if count == 0 and pattern.sinks and encoding is not None and encoding.overrides("extend"):
                count = 1  # what the next key is extended from
            kept = cache_of(cache, keys, k, v, store, count, pattern.sinks)
            self._set_input_buffer(incremental_state, kept)
            k, v = with_sinks(cache, k, v)
        elif attn_mask is not None and attn_mask.numel() == 0:
            pattern = self.pattern
        if attn_mask is not None and attn_mask.numel() > 0:
            added_mask = additive(~attn_mask, None, torch.float32) if attn_mask.dtype == torch.bool else attn_mask
        if self.scale is not None:
            q = self._scaled(q, pattern, keys)

        call = AttentionCall(
            *(encoding, pattern, keys, added_mask, self._dropout(), query.device),
            *(self.layers_pass, self.recomputed, numbers, q_positions),
        )
        if self.observer is not None:
            self.observer(call, q, k, q_idx)
        weights = None
        if need_weights or need_head_weights:
            x, weights = call.with_weights(q, k, v, q_idx)
            weights = weights.transpose(0, 1) if need_head_weights else weights.mean(dim=1)
        else:
            x = call(q, k, v, q_idx)
        return self.out_proj(x.permute(2, 0, 1, 3).reshape(length, batch, -1)), weights

    def _encoded(
        self,
        query: torch.Tensor,
        projected: Sequence[torch.Tensor],
        keys: Keys,
        q_idx: range,
        last: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """What the encoding makes of new queries, keys and values (B, H, T, D), before keys are cached.

        Args:
            query: (T, B, C), what they were projected from.
            keys: the Keys that end with the new ones.
            q_idx: their columns.
            last: (B, H, 1, E), the keys before them; None where there are none.

        Returns:
            The three, and the positions of the queries in their sentences, where a position_bias needs them.
        """
        q, k, v = projected
        encoding, numbers = self.position_encoding, self._numbers()
        if encoding is None:
            return q, k, v, None
        placed = q_idx if numbers is None else numbers.columns(q_idx)
        q, k = encoding.rotate(q, k, placed, placed)
        if encoding.overrides("extend"):
            q, k = encoding.extend(q, k, query.transpose(0, 1), last)
        if not (encoding.overrides("values") or encoding.overrides("position_bias")):
            return q, k, v, None
        length = length_of(q_idx)
        positions = self.layers_pass.positions if self.layers_pass else keys.positions(query.device).newest(length)
        v = encoding.values(v, positions)
        return q, k, v, positions.index if encoding.overrides("position_bias") else None

    # ---- beam search ---------------------------------------------------------------------------------------------
    def can_share_keys(self, incremental_state: IncrementalState) -> bool:
        """Whether this cache can keep the keys of hypotheses where they are, for Ancestors.

        It can where a query needs nothing but a product with each key, and where no key is dropped.
        """
        cache, encoding = self._get_input_buffer(incremental_state), self.position_encoding
        if not cache or cache["store"] is None or cache["store"].used != cache["used"] or self._dropout():
            return False
        whole = self.stepwise_pattern == FULL and read_cache(cache).columns == range(cache["used"])
        plain = encoding is None or encoding.plain_products
        return whole and plain and cache["prev_key_padding_mask"] is None and self.observer is None

    def _attend_to_ancestors(self, query: torch.Tensor, cache: Buffer, ancestors: Ancestors) -> torch.Tensor:
        """Attend from the newest token of every hypothesis, ``query`` (1, N, C), to its own keys: (1, N, C)."""
        rows, store, encoding, batch = query.size(1), cache["store"], self.position_encoding, ancestors.batch
        keys = Keys(range(ancestors.length))
        q_idx = range(ancestors.length - 1, ancestors.length)
        last = None
        if encoding is not None and encoding.overrides("extend"):
            last = ancestors.last_of(store.newest(store.used)[0])
        q, k, v, q_positions = self._encoded(query, self._project(query), keys, q_idx, last)
        if self.scale is not None:
            q = self._scaled(q, self.stepwise_pattern, keys)
        q, k, v = (by_sentence(x, batch) for x in (q, k, v))
        store.make_room(k.size(2))
        store.append(k, v)
        k, v = store.newest(store.used)

        def mask() -> torch.Tensor | None:
            bias = None
            if encoding is not None:
                call = AttentionCall(encoding, None, keys, None, 0.0, q.device, None, positions=q_positions)
                bias = call.bias(q_idx, keys.idx)
            return additive(ancestors.visible, None if bias is None else bias[..., ancestors.columns], torch.float32)

        assert self.layers_pass is not None
        added = self.layers_pass.once(("ancestors", encoding), mask)
        if encoding is not None and encoding.overrides("decay"):
            columns = (Positions(x.unsqueeze(0), ancestors.length) for x in (ancestors.columns[-1:], ancestors.columns))
            q, k = encoding.decay(q, k, *columns)
        x, _ = weighted_attention(q, k, v, added)
        return self.out_proj(x.transpose(1, 2).reshape(1, rows, -1))

    def select_sentences(self, incremental_state: IncrementalState, sentences: torch.Tensor) -> None:
        """Keep the keys of these sentences, for Ancestors."""
        self._get_input_buffer(incremental_state)["store"].reorder_(sentences)

    def keys_seen(self, incremental_state: IncrementalState) -> Keys:
        """The Keys that this cache holds. Their indices end with the last one that it has seen."""
        return read_cache(self._get_input_buffer(incremental_state))

    def rows_kept(self, incremental_state: IncrementalState) -> int:
        """How many rows this cache holds."""
        return self._get_input_buffer(incremental_state)["prev_key"].size(0)

    def reorder_incremental_state(
        self, incremental_state: IncrementalState, new_order: torch.Tensor, in_place: bool = False
    ) -> IncrementalState:
        """Give the cache the sentences ``new_order`` of its batch.

        ``in_place``: copies of ``incremental_state`` need not remain as they are.
        """
        cache = self._get_input_buffer(incremental_state)
        if cache:
            self._set_input_buffer(incremental_state, reorder(cache, new_order, in_place))
        return incremental_state

    def _dropout(self) -> float:
        """That of the attention weights at this call."""
        return self.dropout_module.p if self.training or self.dropout_module.apply_during_inference else 0.0

    def _scaled(self, q: torch.Tensor, pattern: Pattern | None, keys: Keys) -> torch.Tensor:
        """Queries (B, H, T, D), the last of ``keys``, with the factors of ``--attention-scale``."""
        assert self.scale is not None
        count = None
        if self.scale.counts:

            def build() -> torch.Tensor:
                return keys_seen_by(keys, q.size(2), pattern, q.device)

            key = ("count", pattern, keys.idx)
            count = build() if self.layers_pass is None else self.layers_pass.once(key, build)
        factor = self.scale.factor(count, self.learned_scale)
        return (q * factor).to(q.dtype)

    def _numbers(self) -> Positions | None:
        """The numbers of all columns where the encoding compares queries with keys by them; None: their indices."""
        if self.layers_pass is None or self.layers_pass.numbers is None:
            return None
        encoding = self.position_encoding
        return self.layers_pass.numbers if encoding is not None and encoding.compares() else None

    def _project(self, query: torch.Tensor) -> Sequence[torch.Tensor]:
        """(T, B, C) -> queries, keys and values (B, H, T, D)."""
        layers, joined = [getattr(self, name) for name in PROJECTIONS], None
        if self.packed_projections is not None and all(is_plain(layer) for layer in layers):
            joined = self.packed_projections.product(query, layers)
        parts = [layer(query) for layer in layers] if joined is None else joined.chunk(len(layers), dim=-1)
        heads = *query.shape[:2], self.num_heads, self.head_dim
        return [x.view(heads).permute(1, 2, 0, 3) for x in parts]


def keys_seen_by(keys: Keys, length: int, pattern: Pattern | None, device: torch.device) -> torch.Tensor:
    """How many keys each of the last ``length`` of these columns sees, no padding among them.

    (B, 1, T, 1), or what broadcasts to it: T or B is 1 where it is the same for all.
    """
    if pattern is not None:
        index = keys.positions(device).newest(length).index
        return pattern.count(index)[:, None, :, None]
    if keys.padding is None:
        return torch.full((1, 1, 1, 1), length_of(keys.idx), device=device)
    return (~keys.padding).sum(dim=1)[:, None, None, None]


class LayersPass:
    """What the layers of one pass have in common.

    Args:
        positions: Positions of the tokens that are new in it.
        numbers: Positions of all columns, with the numbers that ``--positions`` gives them; None: it gives none.
        ancestors: what tells the hypotheses of a sentence their own keys; None: every row has its own cache.
    """

    def __init__(
        self, positions: Positions, numbers: Positions | None = None, ancestors: Ancestors | None = None
    ) -> None:
        self.positions, self.numbers, self.ancestors = positions, numbers, ancestors
        self._built: dict[Hashable, torch.Tensor | None] = {}

    def once(self, key: Hashable, build: Callable[[], torch.Tensor | None]) -> torch.Tensor | None:
        """The result of ``build()`` for the first layer that asks with ``key``, and for all others."""
        if key not in self._built:
            # What autograd keeps for it belongs to the pass, not to that layer, which may be recomputed without it.
            with saved_tensors_hooks(lambda kept: kept, lambda kept: kept) if is_eager() else nullcontext():
                self._built[key] = build()
        return self._built[key]


@contextmanager
def one_pass(
    attentions: Sequence[SelfAttention],
    positions: Positions,
    numbers: Positions | None = None,
    ancestors: Ancestors | None = None,
) -> Iterator[None]:
    """While inside, these SelfAttentions share what is added to their scores, as far as it is the same for them.

    They must be called with the same padding. ``positions``, ``numbers``, ``ancestors``: see LayersPass.
    """
    layers_pass = LayersPass(positions, numbers, ancestors)
    # Each one once, in the order of the layers: what they draw must be the same at every run.
    for encoding in dict.fromkeys(attention.position_encoding for attention in attentions):
        if encoding is not None:
            encoding.begin_pass()
    for attention in attentions:
        attention.layers_pass = layers_pass
    try:
        yield
    finally:
        for attention in attentions:
            attention.layers_pass = None
