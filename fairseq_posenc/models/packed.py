"""Linear layers whose weights are also kept as CPUs read them fastest, for generation and evaluation."""

import torch
from torch import nn

from fairseq_posenc.attention.packed_weights import PackedWeights
from fairseq_posenc.attention.self_attention import PROJECTIONS, SelfAttention
from fairseq_posenc.linear import is_linear

#: Layers with fewer weights gain less than a call of oneDNN costs.
LEAST = 2**18


class PackedLinear(nn.Linear):
    """An ``nn.Linear`` in the place of another, with its parameters.

    For the few rows of a step of beam search, oneDNN's product with weights in its own layout takes 0.6 to 0.9 times as
    long as PyTorch's. The copy in that layout needs as much memory as the weights.
    """

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.__dict__.update(linear.__dict__)  # its parameters and its hooks
        self._packed = PackedWeights()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        product = self._packed.product(x, (self,))
        return super().forward(x) if product is None else product


def can_pack() -> bool:
    """Whether this PyTorch has oneDNN's products of packed weights, on a kind of processor where they are faster."""
    names = ("_reorder_linear_weight", "_linear_pointwise")
    has_them = torch.backends.mkldnn.is_available() and all(hasattr(torch.ops.mkldnn, name) for name in names)
    return has_them and torch.backends.cpu.get_cpu_capability().startswith("AVX")


def pack_linear_layers(model: nn.Module, least: int = LEAST) -> None:
    """Make the ``nn.Linear`` of ``model`` with at least so many weights faster.

    Self-attention gets the weights of its projections side by side, and in the place of every other layer comes a
    PackedLinear. Nothing happens where this PyTorch cannot use them.
    """
    if not can_pack():
        return
    for module in list(model.modules()):
        layers = {name: x for name, x in module.named_children() if is_linear(x) and x.weight.numel() >= least}
        if isinstance(module, SelfAttention) and all(name in layers for name in PROJECTIONS):
            module.packed_projections = PackedWeights()
            layers = {name: layer for name, layer in layers.items() if name not in PROJECTIONS}
        for name, layer in layers.items():
            setattr(module, name, PackedLinear(layer))
