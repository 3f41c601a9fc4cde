"""What biases that depend on the distance alone have in common."""

import torch

from fairseq_posenc.encodings.base import PositionEncoding
from fairseq_posenc.encodings.positions import length_of


class RelativeBias(PositionEncoding):
    """A bias with one number per head and distance: index of the query minus index of the key, negative for keys in
    the future.

    An encoding overrides ``by_distance``. The matrix over queries and keys is constant along its diagonals: the
    Tq + Tk - 1 numbers of a head are computed once and spread.
    """

    translation_invariant = True

    def by_distance(self, distances: torch.Tensor) -> torch.Tensor:
        """The bias (H, N) in fp32 at ``distances`` (N,), int64. Only keys of the past have to be right if causal."""
        raise NotImplementedError

    def bias(self, q_idx: range, kv_idx: range, device: torch.device) -> torch.Tensor:
        farthest, nearest = q_idx.stop - 1 - kv_idx.start, q_idx.start - (kv_idx.stop - 1)
        with torch.autocast(device.type, enabled=False):  # numbers from positions are fp32 in every mode
            diagonals = self.by_distance(torch.arange(farthest, nearest - 1, -1, device=device))
        # The last query reads the first Tk of these numbers, the query before it starts one later, and so on. Fused
        # kernels take only a bias whose keys lie side by side in memory.
        return diagonals.contiguous().unfold(1, length_of(kv_idx), 1).flip(1).contiguous()


def head_exponents(heads: int) -> torch.Tensor:
    """h = 8 n / H of head n = 1 .. H (Chi et al. 2023, Eq 3 and 6), (H, 1) fp32."""
    return 8 * torch.arange(1, heads + 1, dtype=torch.float32).unsqueeze(1) / heads
