"""A small network that computes a bias for every head."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F


class Network(nn.Module):
    """Linear layers of ``sizes``, the first of which is that of the input, with an activation between them.

    The last one has no bias: softmax takes away what is added to all keys. Computes in fp32, whatever dtype the weights
    have, but not under autocast. Starts as PyTorch's linear layers do.
    """

    def __init__(self, sizes: Sequence[int], activation: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.activation = activation
        last = len(sizes) - 2
        ends = enumerate(pairwise(sizes))
        self.layers = nn.ModuleList(nn.Linear(*sizes, bias=depth < last) for depth, sizes in ends)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(.., sizes[0]) -> (.., sizes[-1])."""
        for depth, layer in enumerate(self.layers):
            assert isinstance(layer, nn.Linear)
            bias = None if layer.bias is None else layer.bias.float()
            x = F.linear(x if depth == 0 else self.activation(x), layer.weight.float(), bias)
        return x
