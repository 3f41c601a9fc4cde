"""A drop-in for fairseq's self-attention that calls a positional encoding."""

import torch
from fairseq.modules import MultiheadAttention

from fairseq_posenc.attention.kernels import fused_attention, weighted_attention
from fairseq_posenc.attention.masks import additive, visible_keys
from fairseq_posenc.encodings.positions import token_positions

#: Passed as ``attn_mask``: hide later keys. Stands for the L x L matrix that stock fairseq builds.
CAUSAL = torch.empty(0)


class SelfAttention(MultiheadAttention):
    """Multi-head self-attention with the hooks of a positional encoding.

    Signature, parameter names and the cache of incremental decoding are those of fairseq's MultiheadAttention, so
    that layers, checkpoints and beam search work unchanged. ``position_encoding`` is None or a PositionEncoding that
    acts on attention; layers may hold the same one.
    """

    def __init__(self, embed_dim, heads, **options):
        super().__init__(embed_dim, heads, self_attention=True, **options)
        self.position_encoding = None

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
        columns = torch.arange(cached + length, device=query.device)
        q_columns = columns[cached:]
        encoding = self.position_encoding
        bias = None
        if encoding is not None:
            q, k = encoding.rotate(q, k, q_columns, q_columns)
            bias = encoding.bias(q_columns, columns)
            if encoding.overrides("values"):
                v = encoding.values(v, self._positions(padding, columns)[:, cached:])
        if cached:
            k = torch.cat([cache["prev_key"], k], dim=2)
            v = torch.cat([cache["prev_value"], v], dim=2)
        if incremental_state is not None:
            state = {"prev_key": k, "prev_value": v, "prev_key_padding_mask": padding}
            self._set_input_buffer(incremental_state, state)

        causal = incremental_state is not None or (attn_mask is not None and attn_mask.numel() == 0)
        # The last column sees every key that is not padding; PyTorch's kernel makes the plain causal mask itself.
        step = length == 1 and incremental_state is not None
        plainly_causal = causal and not step and not cached and bias is None and padding is None
        if attn_mask is not None and attn_mask.numel() > 0:
            given = attn_mask[None, None]
            if given.dtype == torch.bool:
                given = additive(~given, None, torch.float32)
            bias = given if bias is None else bias + given
            plainly_causal = False
        dropout = self.dropout_module.p if self.training or self.dropout_module.apply_during_inference else 0.0

        weights = None
        # With one query there is nothing to fuse: at a step of beam search the plain products are faster.
        if need_weights or need_head_weights or step:
            visible = None if step and padding is None else visible_keys(q_columns, columns, causal, padding)
            x, weights = weighted_attention(q, k, v, additive(visible, bias, torch.float32), dropout)
            if need_head_weights:
                weights = weights.transpose(0, 1)
            elif need_weights:
                weights = weights.mean(dim=1)
            else:
                weights = None
        else:
            visible = None if plainly_causal else visible_keys(q_columns, columns, causal, padding)
            mask = visible if bias is None else additive(visible, bias, q.dtype)
            x = fused_attention(q, k, v, mask, plainly_causal, dropout)
        return self.out_proj(x.permute(2, 0, 1, 3).reshape(length, batch, -1)), weights

    def _split_heads(self, x):
        """(T, B, C) -> (B, H, T, D)."""
        return x.view(x.size(0), x.size(1), self.num_heads, self.head_dim).permute(1, 2, 0, 3)

    @staticmethod
    def _padding_of_all_keys(previous, new, batch, cached, length):
        """(B, cached + length) padding of cached and new keys, or None without any."""
        if previous is None and new is None:
            return None
        device = (previous if new is None else new).device
        if previous is None:
            previous = torch.zeros(batch, cached, dtype=torch.bool, device=device)
        if new is None:
            new = torch.zeros(batch, length, dtype=torch.bool, device=device)
        return torch.cat([previous, new.bool()], dim=1)

    @staticmethod
    def _positions(padding, columns):
        return columns.unsqueeze(0) if padding is None else token_positions(padding)
