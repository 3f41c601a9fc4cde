"""What biases that depend on the distance alone have in common."""

import torch
from torch.nn import functional as F

from fairseq_posenc.encodings.base import ANY, PositionEncoding
from fairseq_posenc.encodings.positions import Idx, Positions, index_of, length_of


class RelativeBias(PositionEncoding):
    """A bias with one number per head and distance: index of the query minus index of the key, negative for keys in
    the future.

    An encoding overrides ``by_distance``. The matrix over queries and keys is constant along its diagonals: the
    Tq + Tk - 1 numbers of a head are computed once and spread.
    """

    translation_invariant = True
    numbers = ANY
    takes_distance = True

    def by_distance(self, distances: torch.Tensor) -> torch.Tensor:
        """The bias (H, N) in fp32 at ``distances`` (N,), int64, or fp64 where ``numbers`` is ANY.

        Only keys of the past have to be right if causal.
        """
        raise NotImplementedError

    def by_numbers(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        """The bias (B, H, Tq, Tk) of queries to keys at any numbers, (B, Tq) and (B, Tk) in fp64."""
        distances = q.unsqueeze(2) - k.unsqueeze(1)
        return self._at(distances.flatten()).float().unflatten(1, distances.shape).transpose(0, 1)

    def _at(self, distances: torch.Tensor) -> torch.Tensor:
        """``by_distance`` of what ``--distance`` makes of distances."""
        return self.by_distance(distances if self.distance is None else self.distance(distances))

    def bias(self, q_idx: Idx, kv_idx: Idx, device: torch.device) -> torch.Tensor:
        if isinstance(q_idx, Positions) or isinstance(kv_idx, Positions):
            with torch.autocast(device.type, enabled=False):
                return self._of_numbers(q_idx, kv_idx, device).contiguous()
        farthest, nearest = q_idx.stop - 1 - kv_idx.start, q_idx.start - (kv_idx.stop - 1)
        with torch.autocast(device.type, enabled=False):  # numbers from positions are fp32 in every mode
            diagonals = self._at(torch.arange(farthest, nearest - 1, -1, device=device))
        # The last query reads the first Tk of these numbers, the query before it starts one later, and so on. Fused
        # kernels take only a bias whose keys lie side by side in memory.
        return diagonals.contiguous().unfold(1, length_of(kv_idx), 1).flip(1).contiguous()

    def _of_numbers(self, q_idx: Idx, kv_idx: Idx, device: torch.device) -> torch.Tensor:
        q, k = index_of(q_idx, device), index_of(kv_idx, device)
        if q.is_floating_point():
            return self.by_numbers(q, k) if self.distance is None else RelativeBias.by_numbers(self, q, k)
        # No more distances than numbers: computed once each, and looked up.
        farthest = max(q_idx.stop, kv_idx.stop)
        nearest = 0 if self.stack.causal else -farthest
        table = self._at(torch.arange(nearest, farthest + 1, device=device))
        distances = (q.unsqueeze(2) - k.unsqueeze(1)).clamp(nearest, farthest)
        return F.embedding(distances - nearest, table.transpose(0, 1)).permute(0, 3, 1, 2)


def head_exponents(heads: int) -> torch.Tensor:
    """h = 8 n / H of head n = 1 .. H (Chi et al. 2023, Eq 3 and 6), (H, 1) fp32."""
    return 8 * torch.arange(1, heads + 1, dtype=torch.float32).unsqueeze(1) / heads
