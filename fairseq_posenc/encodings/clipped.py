"""Numbers by clipped distance, for all pairs of consecutive queries and keys.

All far pairs share a row. Their numbers are summed as one sum, and those of each near distance are picked out. Adding
every pair to its row, which is what autograd makes of a look-up, lets a GPU wait at the rows of the far ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import once_differentiable

Map = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Clipped:
    """Distances key minus query, clipped to ``-clip .. rows - 1 - clip``, which are rows 0 to ``rows`` - 1."""

    q_idx: range
    kv_idx: range
    clip: int
    rows: int

    def distances(self, device: torch.device) -> torch.Tensor:
        """(Tq, Tk), not clipped."""
        q, k = (torch.arange(idx.start, idx.stop, device=device) for idx in (self.q_idx, self.kv_idx))
        return k - q.unsqueeze(1)

    def look_up(self, by_row: torch.Tensor) -> torch.Tensor:
        """(.., Tq, rows) -> (.., Tq, Tk): for each key what its query has for its row."""
        return _WithTranspose.apply(by_row, self._look_up, self._sums)

    def sums(self, table: torch.Tensor) -> torch.Tensor:
        """(.., Tq, Tk) -> (.., Tq, rows): for each row the sum over its keys."""
        return _WithTranspose.apply(table, self._sums, self._look_up)

    def _look_up(self, by_row: torch.Tensor) -> torch.Tensor:
        rows = self.distances(by_row.device).clamp(-self.clip, self.rows - 1 - self.clip) + self.clip
        return by_row.gather(-1, rows.expand(*by_row.shape[:-2], -1, -1))

    def _sums(self, table: torch.Tensor) -> torch.Tensor:
        distances = self.distances(table.device)
        behind, ahead = (
            table.masked_fill(~far, 0).sum(dim=-1, keepdim=True)
            for far in (distances <= -self.clip, distances >= self.rows - 1 - self.clip)
        )
        near = torch.arange(1 - self.clip, self.rows - 1 - self.clip, device=table.device)
        columns = torch.arange(self.q_idx.start, self.q_idx.stop, device=table.device).unsqueeze(1) + near
        columns = columns - self.kv_idx.start
        last = table.size(-1) - 1
        picked = table.gather(-1, columns.clamp(0, last).expand(*table.shape[:-2], -1, -1))
        picked = picked.masked_fill((columns < 0) | (columns > last), 0)
        return torch.cat([behind, picked, ahead], dim=-1)


class _WithTranspose(torch.autograd.Function):
    """A linear map, whose gradient is its transpose."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, linear: Map, transpose: Map) -> torch.Tensor:
        ctx.transpose = transpose
        return linear(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return ctx.transpose(grad), None, None
