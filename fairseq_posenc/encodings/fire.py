"""FIRE: a network of the distance relative to the position of the query."""

from typing import Annotated

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from fairseq_posenc.encodings.base import PositionEncoding, Stack
from fairseq_posenc.encodings.limits import check_number, check_table
from fairseq_posenc.encodings.network import Network
from fairseq_posenc.encodings.options import LAYER, SIDE, Sharing
from fairseq_posenc.encodings.positions import is_eager
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.errors import InputError

#: The least and the greatest length below which positions count alike.
LENGTHS = 1e-3, 1e9


@register_encoding("fire")
class FIRE(PositionEncoding):
    """``bias_h(i, j) = MLP_h(psi(i - j) / psi(max(i, L)))`` with ``psi(x) = ln(|c| x + 1)`` (Li et al. 2024).

    i and j are positions in a text: where i is above L, the bias depends on them, not only on their distance. c and L
    are learned, c from 0.1 on, L as a factor of ``length``. The network has one hidden layer of ``hidden`` ReLU units.

    - Decoder: the paper's form. All layers share a bias, which the paper calls FIRE-S; its FIRE has one in each layer,
      at several times the cost.
    - Encoder: neither the paper nor public code has a form for it. Here the network reads, for a key ahead, the
      negative of what it would read for one behind, and the larger of both positions takes the place of i:
      ``sign(i - j) psi(|i - j|) / psi(max(i, j, L))``, which is between -1 and 1.

    Raises:
        InputError: a number out of its range, or more than the memory holds.
    """

    summary = "network of the distance relative to the position of the query"
    source = "Li et al. 2024 (ICLR)"
    translation_invariant = False

    sharing = Sharing("layers", "all layers share a network (FIRE-S), or not", {"shared": SIDE, "separate": LAYER})

    def __init__(
        self,
        stack: Stack,
        hidden: Annotated[int, "units of the hidden layer"] = 32,
        length: Annotated[float, "where L starts; the authors' 512 is a quarter of their training length"] = 512.0,
    ) -> None:
        super().__init__(stack)
        if hidden < 1:
            raise InputError(f"--fire-hidden must be at least 1, but is {hidden}")
        check_table(f"--fire-hidden {hidden}", hidden, stack.heads)
        check_number("--fire-length", length, *LENGTHS)
        self.length = length
        self.c = nn.Parameter(torch.tensor([0.1]))
        self.length_factor = nn.Parameter(torch.ones(1))
        self.network = Network([1, hidden, stack.heads], F.relu)

    def position_bias(self, positions: torch.Tensor, q_idx: range, kv_idx: range) -> torch.Tensor:
        # The hidden layer would be kept for every pair, and is soon computed again.
        if torch.is_grad_enabled() and is_eager():
            return checkpoint(self._of_pairs, positions, q_idx, kv_idx, use_reentrant=False, preserve_rng_state=False)
        return self._of_pairs(positions, q_idx, kv_idx)

    def _of_pairs(self, positions: torch.Tensor, q_idx: range, kv_idx: range) -> torch.Tensor:
        device = positions.device
        with torch.autocast(device.type, enabled=False):  # numbers from positions are fp32 in every mode
            queries = torch.arange(q_idx.start, q_idx.stop, device=device).unsqueeze(1)
            distances = queries - torch.arange(kv_idx.start, kv_idx.stop, device=device)  # (Tq, Tk)
            larger = positions.unsqueeze(2)
            if not self.stack.causal:
                larger = larger + (-distances).clamp(min=0)
            longest = (self.length * self.length_factor.float()).abs()
            share = distances.sign() * self._psi(distances.abs()) / self._psi(torch.maximum(larger, longest))
            return self.network(share.unsqueeze(-1)).permute(0, 3, 1, 2)

    def _psi(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log1p(self.c.float().abs() * x)
