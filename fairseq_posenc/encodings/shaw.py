"""Shaw et al.'s relative positions: learned vectors by clipped distance, added to keys and values."""

from typing import Annotated

import torch
from torch import nn

from fairseq_posenc.encodings.base import WHOLE, PositionEncoding, Stack
from fairseq_posenc.encodings.clipped import Clipped
from fairseq_posenc.encodings.diagonals import AddToDiagonals, MixDiagonals
from fairseq_posenc.encodings.limits import check_table
from fairseq_posenc.encodings.options import LAYER, SIDE, Sharing
from fairseq_posenc.encodings.positions import Idx, index_of, is_eager
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.errors import InputError

#: So many queries, and so many keys per distance, are long enough for diagonals.
DIAGONALS = 8


@register_encoding("shaw")
class Shaw(PositionEncoding):
    """``score = q_i (k_j + a_ij) / sqrt(D)`` and ``output_i = sum_j weight_ij (v_j + b_ij)`` (Shaw et al. 2018, Eq 3-4;
    Zhang et al. 2023, Eq 7-8).

    a_ij and b_ij are learned vectors (D), one for each distance j - i clipped to -clip .. clip, in the decoder
    -clip .. 0. Heads share them; layers do not, unless ``--shaw-layers`` says so.

    No vector is ever built for a pair of tokens: q a is computed for the 2 clip + 1 distances and looked up; the
    weights of each distance are summed before they meet b. A step of decoding has one vector per key. A causal stack on
    a CPU looks nothing up in long texts: keys and values get the vectors of the largest distance, and each nearer
    distance is a diagonal that gets the difference. On a GPU, the backward pass of a look-up
    sums all far pairs at once.

    Raises:
        InputError: ``clip`` is below 1, or needs more than the memory.
    """

    summary = "learned vectors by clipped distance, added to keys and values"
    source = "Shaw et al. 2018 (NAACL), Eq 3-5 (RPE in Zhang et al. 2023)"
    translation_invariant = True
    numbers = WHOLE
    takes_distance = True
    sharing = Sharing(
        "layers", "layers have their own vectors (as in the paper), or share", {"separate": LAYER, "shared": SIDE}
    )
    size_defaults = {"wmt_en_de_big": {"clip": 8}}

    def __init__(
        self,
        stack: Stack,
        clip: Annotated[int, "largest distance with vectors of its own; the paper: 16 base, 8 big"] = 16,
    ) -> None:
        super().__init__(stack)
        if clip < 1:
            raise InputError(f"--shaw-clip must be at least 1, but is {clip}")
        self.clip = clip
        rows, head_dim = clip + 1 if stack.causal else 2 * clip + 1, stack.model_dim // stack.heads
        check_table(f"--shaw-clip {clip}", rows, head_dim)
        self.keys = nn.Parameter(nn.init.xavier_uniform_(torch.empty(rows, head_dim)))
        self.vectors = nn.Parameter(nn.init.xavier_uniform_(torch.empty(rows, head_dim)))

    def scores(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> torch.Tensor:
        first = self._first_diagonal(q, q_idx, kv_idx)
        if first is not None:
            farthest, nearer = self.keys[0], self.keys[1:] - self.keys[0]
            products = q @ (k + farthest).transpose(-2, -1)
            return AddToDiagonals.apply(products, q @ nearer.transpose(0, 1), first)
        clipped = self._clipped(q, q_idx, kv_idx)
        if clipped is not None:
            return q @ k.transpose(-2, -1) + clipped.look_up(q @ self.keys.transpose(0, 1))
        products, rows = q @ k.transpose(-2, -1), self._rows(q_idx, kv_idx, q.device)
        if is_one_query(rows):
            return products + q @ self.keys[rows.flatten()].transpose(0, 1)
        by_distance = q @ self.keys.transpose(0, 1)
        return products + by_distance.gather(-1, rows.expand(*q.shape[:2], -1, -1))

    def mix(self, weights: torch.Tensor, v: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> torch.Tensor:
        first = self._first_diagonal(v, q_idx, kv_idx)
        if first is not None:
            farthest, nearer = self.vectors[0], self.vectors[1:] - self.vectors[0]
            return MixDiagonals.apply(weights, v + farthest, nearer, first)
        clipped = self._clipped(v, q_idx, kv_idx)
        if clipped is not None:
            weights = weights.to(v.dtype)
            return weights @ v + clipped.sums(weights) @ self.vectors
        rows = self._rows(q_idx, kv_idx, v.device)
        if is_one_query(rows):
            return weights.to(v.dtype) @ v + weights.to(v.dtype) @ self.vectors[rows.flatten()]
        by_distance = weights.new_zeros(*weights.shape[:3], self.vectors.size(0))
        by_distance = by_distance.scatter_add(-1, rows.expand_as(weights), weights)
        return weights.to(v.dtype) @ v + by_distance.to(v.dtype) @ self.vectors

    def _first_diagonal(self, x: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> int | None:
        """That of the largest distance but one, for queries or values ``x``; None where rows are looked up."""
        if not (isinstance(q_idx, range) and isinstance(kv_idx, range) and self.stack.causal):
            return None
        if self.distance is not None or len(q_idx) < DIAGONALS or len(kv_idx) < DIAGONALS * self.clip:
            return None
        wide = x.dtype == self.keys.dtype and x.dtype in (torch.float32, torch.float64)
        if x.device.type != "cpu" or not wide or torch.is_autocast_enabled("cpu") or not is_eager():
            return None
        return q_idx.start - kv_idx.start - self.clip + 1

    def _clipped(self, x: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> Clipped | None:
        """The clipped distances of queries or values ``x`` on a GPU; None where rows are looked up."""
        if not (isinstance(q_idx, range) and isinstance(kv_idx, range)) or self.distance is not None:
            return None
        if not x.is_cuda or not is_eager() or len(q_idx) == 1:
            return None
        return Clipped(q_idx, kv_idx, self.clip, self.vectors.size(0))

    def _rows(self, q_idx: Idx, kv_idx: Idx, device: torch.device) -> torch.Tensor:
        """(B, 1, Tq, Tk) or (1, 1, Tq, Tk): the row of the tables for each query and key; the past comes first."""
        q, k = index_of(q_idx, device), index_of(kv_idx, device)
        distances = k.unsqueeze(1) - q.unsqueeze(2)
        if self.distance is not None:
            distances = self.distance(distances)
        return (distances.clamp(-self.clip, self.vectors.size(0) - 1 - self.clip) + self.clip).unsqueeze(1)


def is_one_query(rows: torch.Tensor) -> bool:
    """Whether these rows (B or 1, 1, Tq, Tk) are those of one query, the same in all texts."""
    return rows.shape[0] == 1 and rows.shape[2] == 1
