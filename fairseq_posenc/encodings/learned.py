"""Learned position embeddings, exactly as in fairseq's own Transformer."""

import torch
from torch import nn

from fairseq_posenc.encodings.base import WHOLE, PositionEncoding, Stack
from fairseq_posenc.encodings.limits import check_table
from fairseq_posenc.encodings.positions import Positions
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.errors import InputError


@register_encoding("learned")
class Learned(PositionEncoding):
    """``y = x + W[position]`` with one learned vector per position (Gehring et al. 2017, section 3.1).

    W has ``stack.first_row + stack.max_positions`` rows; the rows before position 0 stay zero and untrained, and its
    name and layout are those of fairseq, so that checkpoints interchange. The index is the position while training
    and while decoding (the PosNet authors' LearnedPE decodes one position late).

    Raises:
        InputError: a position beyond ``stack.max_positions``, or more of them than the memory holds.
    """

    summary = "one learned vector per position, added to the embeddings; equals stock fairseq --*-learned-pos"
    source = "Gehring et al. 2017, section 3.1 (LAPE in Zhang et al. 2023)"
    translation_invariant = False
    numbers = WHOLE
    length_limit = "--max-source-positions, --max-target-positions"

    def __init__(self, stack: Stack) -> None:
        super().__init__(stack)
        limit = "--max-target-positions" if stack.causal else "--max-source-positions"
        check_table(
            f"learned with {limit} {stack.max_positions}", stack.first_row + stack.max_positions, stack.model_dim
        )
        self.weight = nn.Parameter(torch.empty(stack.first_row + stack.max_positions, stack.model_dim))
        nn.init.normal_(self.weight, std=stack.model_dim**-0.5)
        if stack.first_row:
            nn.init.zeros_(self.weight[stack.first_row - 1])

    @property
    def max_positions(self) -> int:
        return self.stack.max_positions

    def embed(self, x: torch.Tensor, positions: Positions | torch.Tensor) -> torch.Tensor:
        positions = Positions.of(positions)
        if longest := positions.longest_beyond(self.max_positions):
            raise InputError(
                f"learned: position {longest} exceeds the {self.max_positions} learned positions; train with a "
                "larger --max-source-positions / --max-target-positions, or shorten the text"
            )
        padding_row = self.stack.first_row - 1 if self.stack.first_row else None
        rows = (positions.index + self.stack.first_row).clamp(min=0)
        return x + nn.functional.embedding(rows, self.weight, padding_idx=padding_row)
