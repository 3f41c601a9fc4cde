"""Transformer-XL's relative positions: projected sinusoids of the distance."""

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from fairseq_posenc.encodings.base import PositionEncoding, Stack
from fairseq_posenc.encodings.options import LAYER
from fairseq_posenc.encodings.positions import Idx, length_of
from fairseq_posenc.encodings.products import product_by_head
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.errors import InputError


@register_encoding("transformer-xl")
class TransformerXL(PositionEncoding):
    """``score = (q_i + u) k_j + (q_i + v) W R(i - j)``, R the sinusoids of a distance (Dai et al. 2019, section 3.3).

    Every layer has its own W (C, C), without a bias, and its own u and v (H, D), as in XLNet; the authors' code shares
    u and v by default. All start normal with a standard deviation of 0.02, as there. Their dropout of R and the memory
    of earlier segments, which is no part of the encoding, are not here.

    R of a negative distance, of a key ahead, is defined too, and the encoder has the same form. In a decoder a key
    ahead, which only ``--full-context-alignment`` shows, has no position.

    Raises:
        InputError: an odd model dimension.
    """

    summary = "projected sinusoids of the distance, with separate learned queries"
    source = "Dai et al. 2019 (ACL), section 3.3"
    translation_invariant = True

    def __init__(self, stack: Stack) -> None:
        super().__init__(stack)
        if stack.model_dim % 2:
            raise InputError(f"transformer-xl: the model dimension must be even, but is {stack.model_dim}")
        self.project = nn.Linear(stack.model_dim, stack.model_dim, bias=False)
        self.content_query = nn.Parameter(torch.empty(stack.heads, stack.head_dim))
        self.position_query = nn.Parameter(torch.empty(stack.heads, stack.head_dim))
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.02)
        dims = torch.arange(0, stack.model_dim, 2, dtype=torch.float64)
        self.keep_exact("frequencies", 10000 ** (-dims / stack.model_dim))

    @classmethod
    def scope(cls, options: dict[str, Any]) -> str:
        return LAYER

    def scores(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> torch.Tensor:
        assert isinstance(q_idx, range) and isinstance(kv_idx, range)  # CONSECUTIVE
        content, position = (
            (x / math.sqrt(self.stack.head_dim)).unsqueeze(1).to(q.dtype)
            for x in (self.content_query, self.position_query)
        )
        farthest, nearest = q_idx.stop - 1 - kv_idx.start, q_idx.start - (kv_idx.stop - 1)
        last = max(nearest, 0) if self.stack.causal else nearest
        keys = self._keys_of(torch.arange(farthest, last - 1, -1, device=q.device)).to(q.dtype)
        by_distance = F.pad(product_by_head(q + position, keys), (0, last - nearest))
        # The last query reads the first Tk of its numbers, the query before it starts one later. Without the first
        # Tq - 1 numbers of all, rows that are one shorter begin where each query does.
        queries, distances = length_of(q_idx), length_of(kv_idx) + length_of(q_idx) - 1
        flat = by_distance.flatten(-2)[..., queries - 1 : queries * distances - 1]
        shifted = flat.unflatten(-1, (queries, distances - 1)) if queries > 1 else by_distance
        return (q + content) @ k.transpose(-2, -1) + shifted[..., : length_of(kv_idx)]

    def _keys_of(self, distances: torch.Tensor) -> torch.Tensor:
        """W R of distances (N,): (H, D, N) in fp32."""
        with torch.autocast(distances.device.type, enabled=False):
            angles = distances.double().unsqueeze(1) * self.exact("frequencies", distances.device)
            sinusoids = torch.cat([angles.sin(), angles.cos()], dim=1).float()
            return (self.project.weight.float() @ sinusoids.T).unflatten(0, (self.stack.heads, -1))
