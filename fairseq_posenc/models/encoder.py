"""Transformer encoder that takes its positions from an encoding."""

from collections.abc import Sequence
from typing import Any, NoReturn

import torch
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerConfig, TransformerEncoderBase
from torch import nn

from fairseq_posenc.attention.self_attention import one_pass
from fairseq_posenc.encodings.base import AFTER_DROPOUT, BEFORE_DROPOUT, PositionEncoding
from fairseq_posenc.encodings.numbering import INDEX, Numbering
from fairseq_posenc.encodings.positions import Positions, find_padding, token_positions
from fairseq_posenc.models.layers import EncoderLayer, name_dropouts, wrap_layer
from fairseq_posenc.models.stack import (
    drop_stock_tables,
    install_encodings,
    max_positions,
    refuse_scripting,
    renumbers,
    self_attentions,
    without_stock_positions,
)


class Encoder(TransformerEncoderBase):
    """fairseq's Transformer encoder with ``encodings``, one a layer, in place of its position embeddings.

    Takes, returns and reorders what fairseq's encoder does. The first encoding is kept as ``embed_positions``,
    fairseq's own name, so that checkpoints interchange.
    """

    def __init__(
        self,
        cfg: TransformerConfig,
        dictionary: Dictionary,
        embed_tokens: nn.Embedding,
        encodings: Sequence[PositionEncoding | None],
        return_fc: bool = False,
    ) -> None:
        super().__init__(without_stock_positions(cfg), dictionary, embed_tokens, return_fc)
        name_dropouts(self, "TransformerEncoder")
        self.cfg = cfg
        self.numbering: Numbering = INDEX
        install_encodings(self, encodings)

    def build_encoder_layer(self, cfg: TransformerConfig) -> nn.Module:
        return wrap_layer(EncoderLayer(cfg, self.return_fc), cfg)

    def forward_embedding(
        self, src_tokens: torch.Tensor, token_embedding: torch.Tensor | None = None, positions: Positions | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens (B, T) -> what layer 1 reads and the bare scaled embeddings, (B, T, C) each."""
        if positions is None:
            positions = token_positions(src_tokens.eq(self.padding_idx))
        if token_embedding is None:
            token_embedding = self.embed_tokens(src_tokens)
        embedded = self.embed_scale * token_embedding
        x = embedded
        if self.embed_positions.embeds == BEFORE_DROPOUT:
            x = self.embed_positions.embed(x, positions)
        if self.layernorm_embedding is not None:
            x = self.layernorm_embedding(x)
        x = self.dropout_module(x)
        if self.quant_noise is not None:
            x = self.quant_noise(x)
        if self.embed_positions.embeds == AFTER_DROPOUT:
            x = self.embed_positions.embed(x, positions)
        return x, embedded

    def forward(
        self,
        src_tokens: torch.Tensor,
        src_lengths: torch.Tensor | None = None,
        return_all_hiddens: bool = False,
        token_embeddings: torch.Tensor | None = None,
    ) -> dict[str, list[Any]]:
        """Encode src_tokens (B, T), padded on either side; returns fairseq's dictionary of encoder outputs."""
        padding_mask = src_tokens.eq(self.padding_idx)
        padded, left_padded = find_padding(padding_mask)
        # Padding needs no zeros: no attention looks at it.
        attention_mask = padding_mask if padded else None
        positions, numbers = token_positions(padding_mask, left_padded), None
        if renumbers(self):
            drawn = self.numbering.draw(src_tokens.size(1), src_tokens.device)
            positions = numbers = self.numbering.number(positions, src_tokens.size(0), drawn)
        elif self.embed_positions.counts_from_start:
            numbers = positions
        x, embedded = self.forward_embedding(src_tokens, token_embeddings, positions)
        x = x.transpose(0, 1)  # (B, T, C) -> (T, B, C), the layout of fairseq's layers

        states, fc_results = ([x] if return_all_hiddens else []), []
        with one_pass(self_attentions(self), positions, numbers):
            for layer in self.layers:
                x = layer(x, encoder_padding_mask=attention_mask)
                fc_result = None
                if self.return_fc:
                    x, fc_result = x
                if return_all_hiddens:
                    states.append(x)
                    fc_results.append(fc_result)
        if self.layer_norm is not None:
            x = self.layer_norm(x)

        return {
            "encoder_out": [x],
            "encoder_padding_mask": [padding_mask],
            "encoder_embedding": [embedded],
            "encoder_states": states,
            "fc_results": fc_results,
            "src_tokens": [],
            "src_lengths": [(~padding_mask).sum(dim=1, keepdim=True).int()],
        }

    def max_positions(self) -> int:
        """Longest source sentence, in tokens."""
        return max_positions(self.max_source_positions, self.embed_positions, self.numbering)

    def __prepare_scriptable__(self) -> NoReturn:
        refuse_scripting()

    def upgrade_state_dict_named(self, state_dict: dict[str, torch.Tensor], name: str) -> dict[str, torch.Tensor]:
        drop_stock_tables(state_dict, name, self.embed_positions)
        return super().upgrade_state_dict_named(state_dict, name)
