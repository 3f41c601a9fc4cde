"""Rotation of queries and keys, in pairs of dimensions."""

import torch

from fairseq_posenc.encodings.frequencies import Frequencies
from fairseq_posenc.encodings.positions import Idx, Positions, is_eager


class Rotation:
    """Turns the pairs (x0, x1), (x2, x3), .. of the first ``dim`` dimensions by angles ``position x frequency``, and
    multiplies them by the attention factor of its Frequencies.

    Angles are computed in fp64; their cosines and sines are kept in fp32, whatever the dtype of the model.
    """

    def __init__(self, frequencies: Frequencies) -> None:
        self.frequencies = frequencies
        #: Those of consecutive positions in short texts, where they were needed last.
        self._at = frequencies.of(0)
        self._regime = 0
        self._table = torch.empty(0, frequencies.dim // 2, dtype=torch.complex64)

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
        """(T, dim/2): cos + i sin, times the attention factor."""
        regime = self.frequencies.regime(idx)
        if not is_eager():  # nor keep what PyTorch computes with while it compiles
            return self._turns(idx, regime).to(device)
        if regime != self._regime:
            self._table, self._regime = self._table[:0], regime
        if idx.stop > self._table.size(0) or self._table.device != device:
            # Doubling keeps step-by-step decoding from rebuilding the table at every step.
            rows = max(2 * self._table.size(0), idx.stop, 256)
            self._table = self._turns(range(rows), regime).to(device)
        return self._table[idx.start : idx.stop]

    def _factors_of_numbers(self, positions: Positions) -> torch.Tensor:
        """(B, T, dim/2) or (1, T, dim/2): cos + i sin, times the attention factor."""
        index = positions.index
        if positions.whole:
            return self._factors(range(positions.stop), index.device)[index.clamp(min=0)]
        if self._at.device != index.device:
            self._at = self._at.to(index.device)
        angles = index.unsqueeze(-1) * self._at
        factor = torch.full_like(angles, self.frequencies.attention_factor)
        return torch.polar(factor, angles).to(torch.complex64)

    def _turns(self, idx: range, regime: int) -> torch.Tensor:
        """The same, on the CPU."""
        angles = torch.arange(idx.start, idx.stop, dtype=torch.float64).unsqueeze(1) * self.frequencies.of(regime)
        factor = torch.full_like(angles, self.frequencies.attention_factor)
        return torch.polar(factor, angles).to(torch.complex64)
