"""Linear layers whose weights are also kept as CPUs read them fastest, for generation and evaluation."""

from typing import Any

import torch
from torch import nn

from fairseq_posenc.encodings.positions import is_eager

#: Layers with fewer weights gain less than a call of oneDNN costs.
LEAST = 2**20


class PackedLinear(nn.Linear):
    """An ``nn.Linear`` in the place of another, with its parameters.

    For the few rows of a step of beam search, oneDNN's product with weights in its own layout takes 0.6 to 0.9 times as
    long as PyTorch's. The copy in that layout needs as much memory as the weights. It is used where the layer reads
    fp32 on a CPU and no gradient is wanted, and made anew where the weights have changed.
    """

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.__dict__.update(linear.__dict__)  # its parameters and its hooks
        self._packed: torch.Tensor | None = None
        self._packed_from: tuple[int, int] | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self._takes(x):
            return super().forward(x)
        weights = self.weight.data_ptr(), self.weight._version
        if self._packed is None or self._packed_from != weights:
            self._packed = torch.ops.mkldnn._reorder_linear_weight(self.weight.detach())
            self._packed_from = weights
        return torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")

    def _takes(self, x: torch.Tensor) -> bool:
        return (
            x.device.type == self.weight.device.type == "cpu"
            and x.dtype == self.weight.dtype == torch.float32
            and not torch.is_grad_enabled()
            and not self.weight.is_inference()  # these do not say whether they have changed
            and not torch.is_autocast_enabled("cpu")
            and is_eager()
        )

    def __getstate__(self) -> dict[str, Any]:
        # Copies and pickles make their own.
        return {**self.__dict__, "_packed": None, "_packed_from": None}


def can_pack() -> bool:
    """Whether this PyTorch has oneDNN's products of packed weights, on a kind of processor where they are faster."""
    names = ("_reorder_linear_weight", "_linear_pointwise")
    has_them = torch.backends.mkldnn.is_available() and all(hasattr(torch.ops.mkldnn, name) for name in names)
    return has_them and torch.backends.cpu.get_cpu_capability().startswith("AVX")


def pack_linear_layers(model: nn.Module, least: int = LEAST) -> None:
    """Put a PackedLinear in the place of every ``nn.Linear`` of ``model`` with at least so many weights.

    Nothing happens where this PyTorch cannot use it.
    """
    if not can_pack():
        return
    for module in list(model.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Linear and child.weight.numel() >= least:
                setattr(module, name, PackedLinear(child))
