"""Rotation of queries and keys, in pairs of dimensions."""

import torch

from fairseq_posenc.encodings.positions import Idx, Positions, is_eager

#: The least and the greatest base; beyond them, angles leave the range of fp64, or stay 0 in all pairs but one.
BASES = 1e-6, 1e12


class Rotation:
    """Turns the pairs (x0, x1), (x2, x3), .. of the first ``dim`` dimensions by angles ``position x base^(-2i/dim)``.

    Angles are computed in fp64; their cosines and sines are kept in fp32, whatever the dtype of the model.
    """

    def __init__(self, dim: int, base: float) -> None:
        self.frequencies = base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
        #: The same, where they were needed last.
        self._at = self.frequencies
        self._table = torch.empty(0, dim // 2, dtype=torch.complex64)

    def __call__(self, x: torch.Tensor, idx: Idx) -> torch.Tensor:
        """x (B, H, T, D), T indices -> (B, H, T, D)."""
        if isinstance(idx, Positions):
            factors = self._factors_of_numbers(idx).unsqueeze(1)
        else:
            factors = self._factors(idx, x.device)
        dim = 2 * factors.size(-1)
        precision = torch.promote_types(x.dtype, torch.float32)
        pairs = x[..., :dim].to(precision).unflatten(-1, (-1, 2))
        turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * factors).flatten(-2).to(x.dtype)
        return turned if dim == x.size(-1) else torch.cat([turned, x[..., dim:]], dim=-1)

    def _factors(self, idx: range, device: torch.device) -> torch.Tensor:
        """(T, dim/2): cos + i sin."""
        if not is_eager():  # nor keep what PyTorch computes with while it compiles
            return self._turns(idx).to(device)
        if idx.stop > self._table.size(0) or self._table.device != device:
            # Doubling keeps step-by-step decoding from rebuilding the table at every step.
            rows = max(2 * self._table.size(0), idx.stop, 256)
            self._table = self._turns(range(rows)).to(device)
        return self._table[idx.start : idx.stop]

    def _factors_of_numbers(self, positions: Positions) -> torch.Tensor:
        """(B, T, dim/2) or (1, T, dim/2): cos + i sin."""
        index = positions.index
        if positions.whole:
            return self._factors(range(positions.stop), index.device)[index.clamp(min=0)]
        if self._at.device != index.device:
            self._at = self.frequencies.to(index.device)
        angles = index.unsqueeze(-1) * self._at
        return torch.polar(torch.ones_like(angles), angles).to(torch.complex64)

    def _turns(self, idx: range) -> torch.Tensor:
        """The same, on the CPU."""
        angles = torch.arange(idx.start, idx.stop, dtype=torch.float64).unsqueeze(1) * self.frequencies
        return torch.polar(torch.ones_like(angles), angles).to(torch.complex64)
