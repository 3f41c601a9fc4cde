"""A drop-in for fairseq's self-attention that calls a positional encoding."""

from contextlib import contextmanager
from functools import partial

import torch
from fairseq.modules import MultiheadAttention

from fairseq_posenc.attention.kernels import fused_attention, weighted_attention
from fairseq_posenc.attention.masks import additive, columns_of, visible_keys
from fairseq_posenc.encodings.positions import token_positions

#: Passed as ``attn_mask``: hide later keys. Stands for the L x L matrix that stock fairseq builds.
CAUSAL = torch.empty(0)


class SelfAttention(MultiheadAttention):
    """Multi-head self-attention with the hooks of a positional encoding.

    Signature, parameter names and the cache of incremental decoding are those of fairseq's MultiheadAttention, so
    that layers, checkpoints and beam search work unchanged.
    """

    def __init__(self, embed_dim, heads, **options):
        super().__init__(embed_dim, heads, self_attention=True, **options)
        self._encoding = (None,)
        self._pass = None

    @property
    def position_encoding(self):
        """None, or the PositionEncoding that acts here. It belongs to the stack of layers, which may share it."""
        return self._encoding[0]

    def attach(self, encoding):
        """Use this encoding (None: none) from now on."""
        # In a tuple, where PyTorch sees no submodule: a checkpoint holds a shared encoding once, not once a layer.
        self._encoding = (encoding,)

    def forward(
        self,
        query,
        key=None,
        value=None,
        key_padding_mask=None,
        incremental_state=None,
        need_weights=True,
        static_kv=False,
        attn_mask=None,
        before_softmax=False,
        need_head_weights=False,
    ):
        """Attend from every position of ``query`` (T, B, C) to itself and, with a cache, to all earlier positions.

        Args:
            key, value: ignored, as in fairseq's own self-attention: they are the query.
            key_padding_mask: (B, T), True at padding, for the columns of ``query`` only.
            incremental_state: the cache of a decoder; later keys are then hidden among the new queries.
            need_weights, need_head_weights: also return the weights, (B, T, S) averaged or (H, B, T, S).
            attn_mask: None, CAUSAL, or a (T, S) mask as fairseq's: additive, or boolean with True at hidden keys.

        Returns:
            (T, B, C), and the weights or None.
        """
        if static_kv or before_softmax:
            raise ValueError("static_kv and before_softmax belong to cross-attention, which stays fairseq's own")
        length, batch, _ = query.shape
        q, k, v = (self._split_heads(projection(query)) for projection in (self.q_proj, self.k_proj, self.v_proj))

        cache = self._get_input_buffer(incremental_state)
        cached = cache["prev_key"].size(2) if cache else 0
        padding = self._padding_of_all_keys(cache.get("prev_key_padding_mask"), key_padding_mask, batch, cached, length)
        q_columns, k_columns = range(cached, cached + length), range(cached + length)
        encoding = self.position_encoding
        if encoding is not None:
            q, k = encoding.rotate(q, k, q_columns, q_columns)
            if encoding.overrides("values"):
                v = encoding.values(v, self._positions(padding, k_columns, query.device)[:, cached:])
        if cached:
            k = torch.cat([cache["prev_key"], k], dim=2)
            v = torch.cat([cache["prev_value"], v], dim=2)
        if incremental_state is not None:
            state = {"prev_key": k, "prev_value": v, "prev_key_padding_mask": padding}
            self._set_input_buffer(incremental_state, state)
        scores = mix = None
        if encoding is not None:
            q, k = encoding.decay(q, k, q_columns, k_columns)
            if not encoding.plain_products:
                scores = partial(encoding.scores, q_columns=q_columns, k_columns=k_columns)
                mix = partial(encoding.mix, q_columns=q_columns, k_columns=k_columns)

        causal = incremental_state is not None or (attn_mask is not None and attn_mask.numel() == 0)
        given = attn_mask if attn_mask is not None and attn_mask.numel() > 0 else None
        step = length == 1 and incremental_state is not None
        dropout = self.dropout_module.p if self.training or self.dropout_module.apply_during_inference else 0.0

        # With one query there is nothing to fuse: at a step of beam search the plain products are faster.
        if need_weights or need_head_weights or step or scores is not None:
            # The last column sees every key, less padding.
            hides = causal and not (step and padding is None)
            mask = self._mask(q_columns, k_columns, hides, padding, given, torch.float32, query.device)
            x, weights = weighted_attention(q, k, v, mask, dropout, scores, mix)
            if need_head_weights:
                weights = weights.transpose(0, 1)
            elif need_weights:
                weights = weights.mean(dim=1)
            else:
                weights = None
        else:
            weights = None
            biased = encoding is not None and encoding.overrides("bias")
            if biased or given is not None:
                mask = self._mask(q_columns, k_columns, causal, padding, given, q.dtype, query.device)
                x = fused_attention(q, k, v, mask, dropout=dropout)
            elif causal and not cached and padding is None:
                # PyTorch's kernel makes the plain causal mask itself.
                x = fused_attention(q, k, v, causal=True, dropout=dropout)
            else:
                mask = visible_keys(q_columns, k_columns, causal, padding, query.device)
                x = fused_attention(q, k, v, mask, dropout=dropout)
        return self.out_proj(x.permute(2, 0, 1, 3).reshape(length, batch, -1)), weights

    def _mask(self, q_columns, k_columns, causal, padding, given, dtype, device):
        """Everything that is added to the scores, or None; built once for all layers of a pass where they share it."""
        encoding = self.position_encoding
        shared = self._pass if given is None else None
        key = (encoding, q_columns, k_columns, causal, dtype, padding)
        for known, mask in shared or ():
            # Padding is compared by identity: comparing its elements would cost more than it saves.
            if known[:-1] == key[:-1] and known[-1] is padding:
                return mask
        bias = encoding.bias(q_columns, k_columns, device) if encoding is not None else None
        if given is not None:
            if given.dtype == torch.bool:
                given = additive(~given, None, torch.float32)
            bias = given[None, None] if bias is None else bias + given[None, None]
        mask = additive(visible_keys(q_columns, k_columns, causal, padding, device), bias, dtype)
        if shared is not None:
            shared.append((key, mask))
        return mask

    def _split_heads(self, x):
        """(T, B, C) -> (B, H, T, D)."""
        return x.view(x.size(0), x.size(1), self.num_heads, self.head_dim).permute(1, 2, 0, 3)

    @staticmethod
    def _padding_of_all_keys(previous, new, batch, cached, length):
        """(B, cached + length) padding of cached and new keys, or None without any."""
        if previous is None and not cached:
            return None if new is None else new.bool()
        if previous is None and new is None:
            return None
        device = (previous if new is None else new).device
        if previous is None:
            previous = torch.zeros(batch, cached, dtype=torch.bool, device=device)
        if new is None:
            new = torch.zeros(batch, length, dtype=torch.bool, device=device)
        return torch.cat([previous, new.bool()], dim=1)

    @staticmethod
    def _positions(padding, columns, device):
        return columns_of(columns, device).unsqueeze(0) if padding is None else token_positions(padding)


@contextmanager
def one_pass(attentions):
    """While inside, these SelfAttentions share what is added to their scores, as far as it is the same for them."""
    shared = []
    for attention in attentions:
        attention._pass = shared
    try:
        yield
    finally:
        for attention in attentions:
            attention._pass = None
