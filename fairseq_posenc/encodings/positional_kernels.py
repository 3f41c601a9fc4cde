"""A matrix for every position, as both forms of PosNet use them."""

import math

import torch
from torch import nn

from fairseq_posenc.encodings.limits import check_table
from fairseq_posenc.encodings.positions import PADDING, can_look
from fairseq_posenc.errors import InputError


class PositionalKernels(nn.Module):
    """Phi (L, K, K), one kernel a position: row t of h becomes ``h_t Phi_position`` (Zhang et al. 2023, Eq 19).

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

    def __init__(self, max_positions, dim, initialization, beyond, flags):
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
    def max_positions(self):
        """L, or None where later positions are accepted."""
        return None if self.beyond == "clamp" else self.weight.size(0)

    def forward(self, h, positions):
        """h (B, T, K), positions (B, T) or (1, T) -> (B, T, K). Raises InputError past L unless ``beyond`` is "clamp".

        Rows are first laid out by position, so that one batched product over positions does the work: the memory is
        that of h and of Phi, never B x T kernels.
        """
        batch, length, dim = h.shape
        # Without a look, all that are possible in a batch of whole sentences.
        first, last = (int(positions.min()), int(positions.max())) if can_look() else (PADDING, length - 1)
        if self.max_positions is not None and last >= self.max_positions:
            raise InputError(
                f"position {last + 1} exceeds {self.flags}-max-positions {self.max_positions}; train with a larger "
                f"value or evaluate with {self.flags}-beyond clamp"
            )
        in_order = torch.arange(first, first + length, device=positions.device).unsqueeze(0)
        if can_look() and torch.equal(positions, in_order):
            return self._multiply(h, first)
        slots = (positions - first).expand(batch, length).unsqueeze(-1).expand(-1, -1, dim)
        by_position = h.new_zeros(batch, last - first + 1, dim).scatter(1, slots, h)
        return self._multiply(by_position, first).gather(1, slots)

    def _multiply(self, h, first):
        """h (B, P, K) at the positions first .. first + P - 1; a first of -1 is padding, whose kernel is arbitrary."""
        if first < 0:
            h = nn.functional.pad(h, (0, 0, first, 0))
            return nn.functional.pad(self._multiply(h, 0), (0, 0, -first, 0))
        count = h.size(1)
        own = self.weight[first : first + count]
        turned = torch.bmm(h[:, : own.size(0)].transpose(0, 1), own).transpose(0, 1)
        if own.size(0) == count:
            return turned
        return torch.cat([turned, h[:, own.size(0) :] @ self.weight[-1]], dim=1)
