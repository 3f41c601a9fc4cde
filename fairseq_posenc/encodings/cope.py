"""Contextual position encoding: positions that count only what a query's gates count."""

import math
from typing import Annotated, Any

import torch
from torch import nn

from fairseq_posenc.encodings.base import PositionEncoding, Stack
from fairseq_posenc.encodings.limits import check_table
from fairseq_posenc.encodings.options import LAYER
from fairseq_posenc.encodings.positions import Idx, index_of
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.errors import InputError


@register_encoding("cope")
class CoPE(PositionEncoding):
    """``score = q_i (k_j + e[p_ij])`` with ``p_ij = sum over t = j .. i of sigmoid(q_i k_t)`` (Golovneva et al. 2024,
    Eq 3 to 8): how many of the tokens from j to i the query counts.

    p is at most ``positions`` - 1; between whole numbers, e is interpolated. Every layer has its own e (positions, D),
    which its heads share, from 0 on, as in the authors' code.

    - The paper has no 1/sqrt(D). As in the authors' code, gates see the products divided by it, and q e is not divided.
    - Decoder: the paper's form. Masked keys are not counted: none lies between a query and a key that it sees, in any
      pattern but sinks, which this encoding has no form for: a cache does not hold the keys in between.
    - Encoder: neither the paper nor public code has a form for it. Here a key ahead has the mirror image, the sum over
      t = i .. j, and an e of its own.

    Gates and their sums are computed in fp32 or better.

    Raises:
        InputError: fewer than two positions, or more than the memory holds.
    """

    summary = "contextual position encoding: learned vectors by how many tokens in between a query counts"
    source = "Golovneva et al. 2024 (CoPE, Contextual Position Encoding)"
    translation_invariant = True
    counts_between = True

    def __init__(self, stack: Stack, positions: Annotated[int, "rows of e; the authors have 16 to 64"] = 64) -> None:
        super().__init__(stack)
        if positions < 2:
            raise InputError(f"--cope-positions must be at least 2, but is {positions}")
        self.positions = positions
        rows = positions if stack.causal else 2 * positions
        check_table(f"--cope-positions {positions}", rows, stack.head_dim)
        self.weight = nn.Parameter(torch.zeros(rows, stack.head_dim))

    @classmethod
    def scope(cls, options: dict[str, Any]) -> str:
        return LAYER

    def scores(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> torch.Tensor:
        products = q @ k.transpose(-2, -1)
        precision = torch.promote_types(products.dtype, torch.float32)
        gates = products.to(precision).sigmoid()
        q_columns, k_columns = index_of(q_idx, q.device).unsqueeze(2), index_of(kv_idx, q.device).unsqueeze(1)
        positions = gates.masked_fill((k_columns > q_columns).unsqueeze(1), 0).flip(-1).cumsum(-1).flip(-1)
        ahead = None
        if not self.stack.causal:
            ahead = (k_columns > q_columns).unsqueeze(1)
            of_ahead = gates.masked_fill((k_columns < q_columns).unsqueeze(1), 0).cumsum(-1)
            positions = torch.where(ahead, of_ahead, positions)
        # q is divided by sqrt(D) already.
        of_rows = (math.sqrt(self.stack.head_dim) * (q @ self.weight.transpose(0, 1))).to(precision)
        return products + self._at(of_rows, positions, ahead).to(products.dtype)

    def _at(self, of_rows: torch.Tensor, positions: torch.Tensor, ahead: torch.Tensor | None) -> torch.Tensor:
        """What a query has for each row of e, (B, H, Tq, rows), at positions (B, H, Tq, Tk) between the rows."""
        positions = positions.clamp(max=self.positions - 1)
        floor = positions.detach().long().clamp(max=self.positions - 2)
        rows = floor if ahead is None else floor + self.positions * ahead
        steps = of_rows[..., 1:] - of_rows[..., :-1]
        return of_rows.gather(-1, rows) + (positions - floor) * steps.gather(-1, rows)
