"""Sinusoidal position embeddings, exactly as in fairseq's own Transformer."""

import math

import torch

from fairseq_posenc.encodings.base import ANY, PositionEncoding, Stack
from fairseq_posenc.encodings.positions import Positions, is_eager
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.errors import InputError


def sinusoid_table(rows: int, dim: int) -> torch.Tensor:
    """(rows, dim) fp32: row n holds sin(n w_i) for i < dim/2, then cos(n w_i), with w_i = 10000^(-i / (dim/2 - 1)).

    Vaswani et al. 2017, section 3.5, interleave sines and cosines and divide by dim/2; fairseq (after tensor2tensor)
    keeps them in two halves and divides by dim/2 - 1. This is fairseq's form, so that checkpoints interchange.
    """
    return sinusoids(torch.arange(rows), dim)


def sinusoids(positions: torch.Tensor, dim: int) -> torch.Tensor:
    """(..) -> (.., dim) fp32: the rows of the table at ``positions``, which may be no whole numbers."""
    half = dim // 2
    index = torch.arange(half, dtype=torch.float32, device=positions.device)
    frequencies = torch.exp(index * -(math.log(10000) / (half - 1)))
    angles = positions.float().unsqueeze(-1) * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


@register_encoding("sinusoidal")
class Sinusoidal(PositionEncoding):
    """``y = x + P[position]`` with fixed sinusoids P of every length (Vaswani et al. 2017, section 3.5).

    The table is fp32 and grows with the longest position seen; it stays fp32 under ``.half()`` and is no part of a
    checkpoint. Row ``stack.first_row`` belongs to position 0, as in fairseq.

    Raises:
        InputError: the model dimension is odd or below 4.
    """

    summary = "fixed sinusoids added to the embeddings; equals stock fairseq"
    source = "Vaswani et al. 2017, section 3.5 (SAPE in Zhang et al. 2023)"
    translation_invariant = False
    numbers = ANY

    def __init__(self, stack: Stack) -> None:
        super().__init__(stack)
        if stack.model_dim % 2 or stack.model_dim < 4:
            raise InputError(
                f"sinusoidal: the embedding dimension must be even and at least 4, but is {stack.model_dim}"
            )
        # Not a buffer: .half() would round a buffer.
        self._table = sinusoid_table(0, stack.model_dim)

    def embed(self, x: torch.Tensor, positions: Positions | torch.Tensor) -> torch.Tensor:
        positions = Positions.of(positions)
        if not positions.whole:
            return x + sinusoids(positions.index + self.stack.first_row, x.size(-1)).to(x.dtype)
        table = self._table_of(self.stack.first_row + positions.stop, x.device)
        if positions.first is not None:
            start = self.stack.first_row + positions.first
            return x + table[start : start + x.size(1)].to(x.dtype)
        return x + table[(positions.index + self.stack.first_row).clamp(min=0)].to(x.dtype)

    def _table_of(self, rows: int, device: torch.device) -> torch.Tensor:
        """The table, with ``rows`` rows at least."""
        if not is_eager():
            return sinusoid_table(self.stack.first_row + self.stack.max_positions, self.stack.model_dim).to(device)
        if rows > self._table.size(0) or self._table.device != device:
            # Doubling keeps step-by-step decoding from rebuilding the table at every step.
            rows = max(2 * self._table.size(0), rows, self.stack.first_row + 256)
            self._table = sinusoid_table(rows, self.stack.model_dim).to(device)
        return self._table
