"""FIRE: a network of the distance relative to the position of the query."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import torch
from torch import nn
from torch.nn import functional as F

from fairseq_posenc.encodings.base import PositionEncoding, Stack
from fairseq_posenc.encodings.limits import check_number, check_table
from fairseq_posenc.encodings.network import Network
from fairseq_posenc.encodings.options import LAYER, SIDE, Sharing
from fairseq_posenc.encodings.positions import is_eager, length_of
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.errors import InputError

#: The least and the greatest length below which positions count alike.
LENGTHS = 1e-3, 1e9

#: (c, length_factor) -> what the network reads.
Shares = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


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
        device = positions.device
        with torch.autocast(device.type, enabled=False):  # numbers from positions are fp32 in every mode
            shares = partial(self._shares, positions, q_idx, kv_idx)
            if not is_eager():
                return self.network(shares(self.c, self.length_factor).unsqueeze(-1)).permute(0, 3, 1, 2)
            seen = self._seen(q_idx, kv_idx)
            return _OfShares.apply(shares, seen, self.c, self.length_factor, *self.network.parameters())

    def _seen(self, q_idx: range, kv_idx: range) -> list[int]:
        """How many of the keys, the first ones, each query may see."""
        keys = len(kv_idx)
        if not self.stack.causal:
            return [keys] * len(q_idx)
        return [min(max(query + 1 - kv_idx.start, 0), keys) for query in q_idx]

    def _shares(
        self, positions: torch.Tensor, q_idx: range, kv_idx: range, c: torch.Tensor, length_factor: torch.Tensor
    ) -> torch.Tensor:
        """What the network reads for every pair: (B or 1, Tq, Tk)."""

        def psi(x: torch.Tensor) -> torch.Tensor:
            return torch.log1p(c.float().abs() * x)

        # By distance, and spread: the last query reads the first Tk of them, the query before it starts one later.
        farthest, nearest = q_idx.stop - 1 - kv_idx.start, q_idx.start - (kv_idx.stop - 1)
        distances = torch.arange(farthest, nearest - 1, -1, device=positions.device)
        spread = (distances.sign() * psi(distances.abs())).unfold(0, length_of(kv_idx), 1).flip(0)
        longest = (self.length * length_factor.float()).abs()
        larger = positions.unsqueeze(2)
        if not self.stack.causal:
            larger = larger + (-distances).clamp(min=0).unfold(0, length_of(kv_idx), 1).flip(0)
        return spread / psi(torch.maximum(larger, longest))


#: Of so many pairs at a time the hidden layer is computed: on a CPU they stay in its caches, a GPU would be idle.
CPU_PAIRS, GPU_PAIRS = 2**13, 2**20


class _OfShares(torch.autograd.Function):
    """The network of ``shares(c, length_factor)``, (B, Tq, Tk) -> (B, H, Tq, Tk), which keeps nothing for the pairs.

    Where a query may not see a key, the network is not computed, and its output is some number or zero.
    """

    @staticmethod
    def forward(ctx: Any, shares: Shares, seen: list[int], *parameters: torch.Tensor) -> torch.Tensor:
        ctx.shares, ctx.seen = shares, seen
        ctx.save_for_backward(*parameters)
        c, length_factor, first, bias, last = parameters
        of_pairs, last = shares(c, length_factor), last.float()
        out = last.new_zeros(len(last), *of_pairs.shape)
        for part, _, hidden in _hidden(of_pairs, seen, first, bias):
            out[part] = (last @ hidden).view(-1, *of_pairs[part].shape)
        return out.transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        *given, first, bias, last = ctx.saved_tensors
        with torch.enable_grad():
            given = [x.detach().requires_grad_() for x in given]
            of_pairs = ctx.shares(*given)
        grad, slopes, wide_last = grad.transpose(0, 1), first.float().T, last.float()
        grad_pairs = torch.zeros_like(of_pairs)
        grads = [torch.zeros_like(x, dtype=torch.float32) for x in (first, bias, last)]
        for part, flat, hidden in _hidden(of_pairs.detach(), ctx.seen, first, bias):
            some = grad[part].flatten(1)
            grads[2] += some @ hidden.T
            grad_hidden = (wide_last.T @ some).mul_(hidden > 0)
            grads[1] += grad_hidden.sum(dim=1)
            grads[0] += grad_hidden @ flat.unsqueeze(1)
            grad_pairs[part] = (slopes @ grad_hidden).view(grad_pairs[part].shape)
        of_given = torch.autograd.grad(of_pairs, given, grad_pairs)
        return None, None, *of_given, *(x.to(y.dtype) for x, y in zip(grads, (first, bias, last)))


def _hidden(
    of_pairs: torch.Tensor, seen: list[int], first: torch.Tensor, bias: torch.Tensor
) -> Iterator[tuple[tuple[Any, ...], torch.Tensor, torch.Tensor]]:
    """Some queries at a time: an index of their pairs, what the network reads for these, and its hidden layer."""
    pairs = CPU_PAIRS if of_pairs.device.type == "cpu" else GPU_PAIRS
    texts, queries, keys = of_pairs.shape
    at_once = max(1, pairs // (texts * keys))
    first, bias = first.float(), bias.float().unsqueeze(1)
    for start in range(0, queries, at_once):
        rows = slice(start, start + at_once)
        part = ..., rows, slice(seen[rows][-1])
        flat = of_pairs[part].flatten()
        yield part, flat, torch.addcmul(bias, first, flat).relu_()
