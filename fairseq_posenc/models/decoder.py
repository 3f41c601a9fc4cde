"""Transformer decoder that takes its positions from an encoding."""

from collections.abc import Sequence
from typing import Any, NoReturn

import torch
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerConfig, TransformerDecoderBase
from torch import nn

from fairseq_posenc.attention.hypotheses import Ancestors
from fairseq_posenc.attention.keys import NO_KEYS, IncrementalState, Keys
from fairseq_posenc.attention.self_attention import CAUSAL, one_pass
from fairseq_posenc.encodings.base import AFTER_DROPOUT, BEFORE_DROPOUT, PositionEncoding
from fairseq_posenc.encodings.numbering import INDEX, Numbering
from fairseq_posenc.encodings.positions import Positions, find_padding, token_positions
from fairseq_posenc.models.layers import DecoderLayer, name_dropouts, wrap_layer
from fairseq_posenc.models.stack import (
    drop_stock_tables,
    install_encodings,
    max_positions,
    refuse_scripting,
    renumbers,
    self_attentions,
    without_stock_positions,
)

#: Where a cache keeps what was drawn for its text.
DRAWN = "drawn_positions"
#: Where a cache keeps which keys its hypotheses follow.
HYPOTHESES = "hypotheses"
#: With twice as many hypotheses per sentence, products with the keys of all of them save no time (on a CPU).
WIDEST = 16


class Decoder(TransformerDecoderBase):
    """fairseq's Transformer decoder with ``encodings`` in place of its position embeddings (see Encoder)."""

    def __init__(
        self,
        cfg: TransformerConfig,
        dictionary: Dictionary,
        embed_tokens: nn.Module,
        encodings: Sequence[PositionEncoding | None],
        no_encoder_attn: bool = False,
        output_projection: nn.Module | None = None,
    ) -> None:
        super().__init__(without_stock_positions(cfg), dictionary, embed_tokens, no_encoder_attn, output_projection)
        name_dropouts(self, "TransformerDecoder")
        self.cfg = cfg
        self.numbering: Numbering = INDEX
        install_encodings(self, encodings)

    def build_decoder_layer(self, cfg: TransformerConfig, no_encoder_attn: bool = False) -> nn.Module:
        return wrap_layer(DecoderLayer(cfg, no_encoder_attn), cfg)

    def forward_embedding(self, tokens: torch.Tensor, positions: Positions) -> torch.Tensor:
        """Tokens (B, T) and their Positions -> what layer 1 reads, (B, T, C)."""
        x = self.embed_scale * self.embed_tokens(tokens)
        if self.quant_noise is not None:
            x = self.quant_noise(x)
        if self.project_in_dim is not None:
            x = self.project_in_dim(x)
        if self.embed_positions.embeds == BEFORE_DROPOUT:
            x = self.embed_positions.embed(x, positions)
        if self.layernorm_embedding is not None:
            x = self.layernorm_embedding(x)
        x = self.dropout_module(x)
        if self.embed_positions.embeds == AFTER_DROPOUT:
            x = self.embed_positions.embed(x, positions)
        return x

    def extract_features(
        self,
        prev_output_tokens: torch.Tensor,
        encoder_out: dict[str, list[Any]] | None = None,
        incremental_state: IncrementalState | None = None,
        full_context_alignment: bool = False,
        alignment_layer: int | None = None,
        alignment_heads: int | None = None,
        need_attn: bool = True,
    ) -> tuple[torch.Tensor, dict[str, list[Any]]]:
        """Decode prev_output_tokens (B, T), or with ``incremental_state`` those columns that its cache has not seen.

        Step by step that is one column, as in stock fairseq, but it may be a whole prefix too. There may be several
        rows per source sentence, in the order of the sentences.

        Returns:
            Features (B, T, C), and a dict with the attention over the source ("attn": [(B, T, S) or None]) of
            ``alignment_layer`` (default: the last), averaged over its first ``alignment_heads`` heads (default: all),
            unless ``need_attn`` is False, and the states between layers ("inner_states").
        """
        tokens, positions, numbers, padding_mask = self._new_tokens(
            prev_output_tokens, incremental_state, full_context_alignment
        )
        x = self.forward_embedding(tokens, positions)
        x = x.transpose(0, 1)  # (B, T, C) -> (T, B, C), the layout of fairseq's layers

        source = source_padding = None
        if encoder_out is not None and encoder_out["encoder_out"]:
            source = encoder_out["encoder_out"][0]
        if encoder_out is not None and encoder_out["encoder_padding_mask"]:
            source_padding = encoder_out["encoder_padding_mask"][0]
        if alignment_layer is None:
            alignment_layer = self.num_layers - 1

        attention, states, ancestors = None, [x], self._ancestors(incremental_state)
        if ancestors is not None:
            ancestors.extend()
        with one_pass(self_attentions(self), positions, numbers, ancestors):
            for index, layer in enumerate(self.layers):
                aligned = need_attn and index == alignment_layer
                x, layer_attention, _ = layer(
                    x,
                    source,
                    source_padding,
                    incremental_state,
                    self_attn_mask=None if incremental_state is not None or full_context_alignment else CAUSAL,
                    self_attn_padding_mask=padding_mask,
                    need_attn=aligned,
                    need_head_weights=aligned,
                )
                states.append(x)
                if aligned and layer_attention is not None:
                    attention = layer_attention[:alignment_heads].mean(dim=0).to(x)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        x = x.transpose(0, 1)
        if self.project_out_dim is not None:
            x = self.project_out_dim(x)
        return x, {"attn": [attention], "inner_states": states}

    def _new_tokens(
        self, tokens: torch.Tensor, incremental_state: IncrementalState | None, full_context: bool
    ) -> tuple[torch.Tensor, Positions, Positions | None, torch.Tensor | None]:
        """The columns of ``tokens`` that no cache has seen, their Positions, those of all columns where the encoding
        compares by them and not by the columns, and the padding that attention must know.

        Padding that comes last is hidden by causal attention itself.
        """
        seen, ancestors = NO_KEYS, self._ancestors(incremental_state)
        if ancestors is not None:
            seen = Keys(range(ancestors.length))
        elif incremental_state is not None:
            seen = self_attentions(self)[0].keys_seen(incremental_state)
        first, length = seen.idx.stop, tokens.size(1)
        other_numbers, padding = renumbers(self, stepwise=incremental_state is not None), None
        of_all = other_numbers or self.embed_positions.counts_from_start
        if first and seen.padding is None:  # a cache knows that no sentence begins with padding
            start = 0 if of_all else first
            positions = Positions.consecutive(start, length - start, tokens.device)
        else:
            padding_mask = tokens.eq(self.padding_idx)
            padded, left_padded = (True, True) if first else find_padding(padding_mask)
            positions = token_positions(padding_mask, left_padded)
            if left_padded or (full_context and padded):
                padding = padding_mask[:, first:]
        numbers = positions if of_all else None
        if other_numbers:
            numbers = self._numbered(positions, tokens, incremental_state)
        return tokens[:, first:], (numbers or positions).newest(length - first), numbers, padding

    def _numbered(
        self, positions: Positions, tokens: torch.Tensor, incremental_state: IncrementalState | None
    ) -> Positions:
        """The Positions of all columns of ``tokens`` (B, T) with the numbers that ``--positions`` gives them."""
        drawn = None
        if incremental_state is None:
            drawn = self.numbering.draw(tokens.size(1), tokens.device, open_end=True)
        else:
            if self.get_incremental_state(incremental_state, DRAWN) is None:
                self.begin_hypotheses(incremental_state, self.max_positions(), tokens.device)
            drawn = self.get_incremental_state(incremental_state, DRAWN)["drawn"]
        return self.numbering.number(positions, tokens.size(0), drawn)

    def begin_hypotheses(self, incremental_state: IncrementalState, length: int, device: torch.device) -> None:
        """Draw for a new cache what ``--positions`` draws for texts of up to ``length`` tokens.

        Otherwise the first call that has the cache draws for the longest text of all.
        """
        if renumbers(self, stepwise=True):
            drawn = self.numbering.draw(length, device, open_end=True)
            self.set_incremental_state(incremental_state, DRAWN, {"drawn": drawn})

    def reorder_hypotheses(
        self, incremental_state: IncrementalState, rows: torch.Tensor, sentences: torch.Tensor | None
    ) -> None:
        """Give the cache these rows of the target and these sentences of the source (None: the same), in place.

        ``rows`` are in the order of the sentences, as many of each.
        """
        if self.get_incremental_state(incremental_state, HYPOTHESES) is None:
            ancestors = self._share_keys(incremental_state, rows, sentences)
            self.set_incremental_state(incremental_state, HYPOTHESES, {"ancestors": ancestors})
        ancestors = self._ancestors(incremental_state)
        if ancestors is not None:
            ancestors.reorder(rows, ancestors.batch if sentences is None else len(sentences))
        for layer in self.layers.children():
            if ancestors is None:
                layer.self_attn.reorder_incremental_state(incremental_state, rows, in_place=True)
            elif sentences is not None:
                layer.self_attn.select_sentences(incremental_state, sentences)
            if sentences is not None and layer.encoder_attn is not None:
                layer.encoder_attn.reorder_incremental_state(incremental_state, sentences)

    def _ancestors(self, incremental_state: IncrementalState | None) -> Ancestors | None:
        """None where every row of the cache has its own keys."""
        kept = None if incremental_state is None else self.get_incremental_state(incremental_state, HYPOTHESES)
        return None if kept is None else kept["ancestors"]

    def _share_keys(
        self, incremental_state: IncrementalState, rows: torch.Tensor, sentences: torch.Tensor | None
    ) -> Ancestors | None:
        """Ancestors for a cache that has one row per sentence so far; None where each row is to have its own keys."""
        attentions = self_attentions(self)
        if renumbers(self, stepwise=True) or not all(x.can_share_keys(incremental_state) for x in attentions):
            return None
        seen, batch = attentions[0].keys_seen(incremental_state), attentions[0].rows_kept(incremental_state)
        remaining = batch if sentences is None else len(sentences)
        if not remaining < len(rows) <= WIDEST * remaining:
            return None
        return Ancestors(batch, seen.idx.stop, rows.device)

    def max_positions(self) -> int:
        """Longest target sentence, in tokens."""
        return max_positions(self.max_target_positions, self.embed_positions, self.numbering)

    def __prepare_scriptable__(self) -> NoReturn:
        refuse_scripting()

    def upgrade_state_dict_named(self, state_dict: dict[str, torch.Tensor], name: str) -> dict[str, torch.Tensor]:
        drop_stock_tables(state_dict, name, self.embed_positions)
        return super().upgrade_state_dict_named(state_dict, name)
