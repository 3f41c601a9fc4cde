"""The decoder's attention to the source, where the hypotheses of a beam share the keys of their sentence."""

from typing import Any

import torch
from fairseq.modules import MultiheadAttention

from fairseq_posenc.attention.kernels import fused_attention, weighted_attention
from fairseq_posenc.attention.keys import IncrementalState, reorder
from fairseq_posenc.attention.masks import additive


class CrossAttention(MultiheadAttention):
    """Multi-head attention of every target position to the source. It has no position term.

    Signature, parameter names and caches are those of fairseq's MultiheadAttention, with one addition: the queries may
    be N hypotheses per source sentence, in the order of the sentences. Keys and values are then computed, kept and
    read once per sentence. N follows from the two batch sizes at each call.
    """

    def __init__(self, embed_dim: int, heads: int, **options: Any) -> None:
        super().__init__(embed_dim, heads, encoder_decoder_attention=True, **options)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor | None,
        value: torch.Tensor | None = None,
        key_padding_mask: torch.Tensor | None = None,
        incremental_state: IncrementalState | None = None,
        need_weights: bool = True,
        static_kv: bool = True,
        attn_mask: torch.Tensor | None = None,
        before_softmax: bool = False,
        need_head_weights: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Attend from ``query`` (T, N x B, C) to ``key`` (S, B, kdim).

        Args:
            value: ignored, as in fairseq's own cross-attention: it is the key.
            key_padding_mask: (B, S), True at padding.
            incremental_state: keys, values and mask are computed at the first call and kept there; later calls ignore
                ``key`` and ``key_padding_mask``.
            need_weights, need_head_weights: also return the weights, (N x B, T, S) averaged or (H, N x B, T, S).
            static_kv: ignored: the source never grows.

        Returns:
            (T, N x B, C), and the weights or None.
        """
        if attn_mask is not None or before_softmax:
            raise ValueError("attn_mask and before_softmax belong to self-attention")
        length, rows, _ = query.shape
        k, v, mask = self._source(key, key_padding_mask, incremental_state)
        q = self.q_proj(query).view(length, -1, rows // k.size(0), self.num_heads, self.head_dim)
        q = q.permute(1, 3, 2, 0, 4).flatten(2, 3)  # (T, B, N, H, D) -> (B, H, N x T, D)

        dropout = self.dropout_module.p if self.training or self.dropout_module.apply_during_inference else 0.0
        weights = None
        # No kernel for a CPU has dropout.
        if need_weights or need_head_weights or (dropout > 0 and q.device.type == "cpu"):
            x, weights = weighted_attention(q, k, v, mask, dropout)
        else:
            x = fused_attention(q, k, v, mask, dropout=dropout)
        x = x.unflatten(2, (-1, length)).permute(3, 0, 2, 1, 4).reshape(length, rows, -1)
        if not (need_weights or need_head_weights) or weights is None:
            return self.out_proj(x), None
        weights = weights.unflatten(2, (-1, length)).transpose(0, 1).flatten(1, 2)
        return self.out_proj(x), weights if need_head_weights else weights.mean(dim=0)

    def _source(
        self,
        key: torch.Tensor | None,
        padding: torch.Tensor | None,
        incremental_state: IncrementalState | None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Keys and values (B, H, S, D), and what is added to the scores (B, 1, 1, S) or None; kept in the cache."""
        kept = self._get_input_buffer(incremental_state)
        if kept:
            return kept["prev_key"], kept["prev_value"], kept["mask"]
        assert key is not None  # before there is a cache
        k, v = (
            projection(key).unflatten(2, (self.num_heads, self.head_dim)).permute(1, 2, 0, 3)
            for projection in (self.k_proj, self.v_proj)
        )
        mask = None if padding is None else additive(~padding.bool()[:, None, None, :], None, k.dtype)
        if incremental_state is not None:
            k, v = k.contiguous(), v.contiguous()  # every step reads them
            self._set_input_buffer(incremental_state, {"prev_key": k, "prev_value": v, "mask": mask})
        return k, v, mask

    def reorder_incremental_state(
        self, incremental_state: IncrementalState, new_order: torch.Tensor
    ) -> IncrementalState:
        """Give the cache the source sentences ``new_order`` of its batch.

        As in fairseq, an order of all rows changes nothing: a step of beam search keeps hypotheses in their sentence.
        """
        kept = self._get_input_buffer(incremental_state)
        if kept and new_order.size(0) != kept["prev_key"].size(0):
            self._set_input_buffer(incremental_state, reorder(kept, new_order))
        return incremental_state
