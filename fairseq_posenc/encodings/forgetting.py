"""Forgetting gates: a decay by distance that follows from what lies in between."""

import math
from typing import Annotated, Any, Optional

import torch
from torch import nn
from torch.nn import functional as F

from fairseq_posenc.encodings.base import ANY, PositionEncoding, Stack
from fairseq_posenc.encodings.limits import check_number
from fairseq_posenc.encodings.options import LAYER
from fairseq_posenc.encodings.positions import Idx, index_of
from fairseq_posenc.encodings.registry import register_encoding

#: Where the bias of gates may start: beyond, they forget all, or nothing.
STARTS = -20, 20
#: A sum is so many numbers of a key. Queries and keys are wider by WIDTH; fused kernels want a multiple of 8.
PARTS, WIDTH = 3, 8


@register_encoding("forgetting")
class Forgetting(PositionEncoding):
    """``bias_h(i, j) = sum over l = j+1 .. i of ln f_l``, with the gates ``f_l = sigmoid(w_h x_l + b_h)`` of what the
    layer reads (Lin et al. 2025): ALiBi with slopes that depend on the data.

    Every layer has gates of its own. w starts with a standard deviation of 0.02, b at ``start``: with 0 a token halves
    the weight of all before it, as in the authors' code; x-transformers has 5, which forgets slowly.

    - Decoder: ``c_i - c_j``, with c the sums of ln f in fp32, is a product of a few more dimensions of queries and
      keys. Fused kernels then need no bias, and what a cache keeps is wider keys. In fp16, c must stay above -65,000:
      where every token halves the weights, that is 94,000 tokens.
    - Encoder: keys ahead have gates of their own, and ``sum over l = i .. j-1 of ln g_l``, the mirror image. The paper
      has no form for it; x-transformers has this one.

    The authors use no other encoding with it. The output gates and shifted keys of their "Pro" block are no part of the
    encoding, and not here.
    """

    summary = "decay by gates that depend on the tokens in between"
    source = "Lin et al. 2025 (ICLR, FoX)"
    translation_invariant = True
    numbers = ANY

    def __init__(
        self, stack: Stack, start: Annotated[float, "where b starts: larger values forget less"] = 0.0
    ) -> None:
        super().__init__(stack)
        check_number("--forgetting-start", start, *STARTS)
        self.gates = nn.Linear(stack.model_dim, stack.heads * (1 if stack.causal else 2))
        nn.init.normal_(self.gates.weight, std=0.02)
        nn.init.constant_(self.gates.bias, start)
        # The power of two next to sqrt(D), which every dtype holds. Scores are divided by sqrt(D).
        self.unit = 2.0 ** round(math.log2(math.sqrt(stack.head_dim)))
        self.per_unit = math.sqrt(stack.head_dim) / self.unit

    @classmethod
    def scope(cls, options: dict[str, Any]) -> str:
        return LAYER

    @property
    def plain_products(self) -> bool:
        return self.stack.causal

    def extend(
        self, q: torch.Tensor, k: torch.Tensor, x: torch.Tensor, last: Optional[torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        gates = self._log_gates(x)
        sums = gates[:, 0].cumsum(dim=2)
        if last is not None:
            sums = sums + self._sums_in(last)
        more = [self._dimensions(sums, q.dtype)]
        if not self.stack.causal:
            # The sums of a text that is read backwards.
            more.append(self._dimensions(gates[:, 1].flip(2).cumsum(dim=2).flip(2), q.dtype))
        more_q, more_k = zip(*more)
        return torch.cat([q, *more_q], dim=-1), torch.cat([k, *more_k], dim=-1)

    def scores(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> torch.Tensor:
        if self.stack.causal:
            return super().scores(q, k, q_idx, kv_idx)
        dim = self.stack.head_dim
        parts = ((x[..., :dim], x[..., dim : dim + WIDTH], x[..., dim + WIDTH :]) for x in (q, k))
        products, past, ahead = (of_q @ of_k.transpose(-2, -1) for of_q, of_k in zip(*parts))
        q_positions, k_positions = (index_of(idx, q.device) for idx in (q_idx, kv_idx))
        earlier = (k_positions.unsqueeze(1) <= q_positions.unsqueeze(2)).unsqueeze(1)
        return products + torch.where(earlier, past, ahead)

    def _log_gates(self, x: torch.Tensor) -> torch.Tensor:
        """x (B, T, C) -> ln f (B, 1 or 2, H, T), in fp32 or better; the second row is for keys ahead."""
        precision = torch.promote_types(x.dtype, torch.float32)
        with torch.autocast(x.device.type, enabled=False):
            gates = F.linear(x.to(precision), self.gates.weight.to(precision), self.gates.bias.to(precision))
            gates = F.logsigmoid(gates).unflatten(-1, (-1, self.stack.heads)).permute(0, 2, 3, 1)
            return gates.contiguous()  # a GPU sums numbers faster that lie side by side

    def _dimensions(self, sums: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """c (B, H, T) -> for queries and for keys (B, H, T, WIDTH), with products sqrt(D) (c_i - c_j)."""
        sums = sums * self.per_unit
        # Three parts with the 8 bits of bf16 are 24 bits, all those of fp32, also where products have fewer (TF32).
        high = sums.detach().bfloat16().to(sums.dtype)
        middle = (sums.detach() - high).bfloat16().to(sums.dtype)
        parts = torch.stack([high, middle, sums - high - middle], dim=-1).to(dtype)
        units, zeros = torch.full_like(parts, self.unit), parts.new_zeros(*parts.shape[:-1], WIDTH - 2 * PARTS)
        return torch.cat([units, parts, zeros], dim=-1), torch.cat([-parts, units, zeros], dim=-1)

    def _sums_in(self, k: torch.Tensor) -> torch.Tensor:
        """c (B, H, T) from keys (B, H, T, E)."""
        parts = k[..., self.stack.head_dim : self.stack.head_dim + PARTS]
        return -parts.to(torch.promote_types(k.dtype, torch.float32)).sum(dim=-1) / self.per_unit
