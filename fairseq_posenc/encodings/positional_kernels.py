"""A matrix for every position, as both forms of PosNet use them."""

import math

import torch
from torch import nn

from fairseq_posenc.encodings.limits import check_table
from fairseq_posenc.encodings.positions import PADDING, Positions
from fairseq_posenc.errors import InputError


class PositionalKernels(nn.Module):
    """Phi (L, K, K), one kernel per position: row t of h becomes ``h_t Phi_position`` (Zhang et al. 2023, Eq 19).

    Args:
        max_positions: L.
        dim: K.
        initialization: Xavier-normal over the whole tensor ("tensor", whose standard deviation shrinks with L) or over
            each kernel ("slice").
        beyond: what happens past L: "error", or "clamp" (all later positions use the last kernel).
        flags: how the options' names begin, for error messages.

    Raises:
        InputError: ``max_positions`` is below 1, or Phi is larger than the memory.
    """

    def __init__(self, max_positions: int, dim: int, initialization: str, beyond: str, flags: str) -> None:
        super().__init__()
        if max_positions < 1:
            raise InputError(f"{flags}-max-positions must be at least 1, but is {max_positions}")
        check_table(f"{flags}-max-positions {max_positions} with kernels of {dim} x {dim}", max_positions, dim, dim)
        self.beyond, self.flags = beyond, flags
        self.weight = nn.Parameter(torch.empty(max_positions, dim, dim))
        if initialization == "tensor":
            nn.init.xavier_normal_(self.weight)
        else:
            nn.init.normal_(self.weight, std=math.sqrt(1 / dim))

    @property
    def max_positions(self) -> int | None:
        """L, or None where later positions are accepted."""
        return None if self.beyond == "clamp" else self.weight.size(0)

    def forward(self, h: torch.Tensor, positions: Positions | torch.Tensor) -> torch.Tensor:
        """h (B, T, K), Positions -> (B, T, K). Raises InputError past L unless ``beyond`` is "clamp".

        Rows are first laid out by position, so that one batched product over positions does the work: the memory is
        that of h and of Phi, never B x T kernels.
        """
        positions = Positions.of(positions)
        limit = self.max_positions
        if limit is not None and (longest := positions.longest_beyond(limit)):
            raise InputError(
                f"position {longest} exceeds {self.flags}-max-positions {limit}; train with a larger value or evaluate "
                f"with {self.flags}-beyond clamp"
            )
        if positions.first is not None:
            return self._multiply(h, positions.first)
        batch, length = h.shape[:2]
        index = positions.index.expand(batch, length)
        kernel_of = index.clamp(min=0)
        last = self.weight.size(0) - 1
        if positions.index.size(0) == 1:  # all sentences have the same numbers
            return torch.bmm(h.transpose(0, 1), self.weight[kernel_of[0].clamp(max=last)]).transpose(0, 1)
        if length == 1:  # a step of decoding: fewer kernels than positions
            return torch.bmm(h, self.weight[kernel_of[:, 0].clamp(max=last)])
        # Where a sentence has each position; any column where it has none. That of padding comes first and is left out.
        columns = torch.arange(length, device=h.device).expand(batch, length)
        column_of = index.new_zeros(batch, positions.stop - PADDING).scatter(1, index - PADDING, columns)[:, -PADDING:]
        return _rows(self._multiply(_rows(h, column_of), 0), kernel_of)

    def _multiply(self, h: torch.Tensor, first: int) -> torch.Tensor:
        """h (B, P, K) at the positions first .. first + P - 1."""
        count = h.size(1)
        own = self.weight[first : first + count]
        turned = torch.bmm(h[:, : own.size(0)].transpose(0, 1), own).transpose(0, 1)
        if own.size(0) == count:
            return turned
        return torch.cat([turned, h[:, own.size(0) :] @ self.weight[-1]], dim=1)


def _rows(x: torch.Tensor, idx: torch.Tensor) -> torch.Tensor:
    """x (B, N, K), idx (B, M) -> (B, M, K), rows of each sentence. ``gather`` would look up every number of a row."""
    batch, count, dim = x.shape
    first = count * torch.arange(batch, device=x.device).unsqueeze(1)
    return x.reshape(batch * count, dim).index_select(0, (first + idx).flatten()).view(batch, -1, dim)
