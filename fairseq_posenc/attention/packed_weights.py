"""Products with weights that are also kept as CPUs read them fastest."""

from collections.abc import Sequence
from typing import Optional

import torch
from torch import nn

from fairseq_posenc.encodings.positions import is_eager
from fairseq_posenc.linear import is_linear


def is_plain(layer: nn.Module) -> bool:
    """Whether a call of this layer is nothing but the product with its weights."""
    return is_linear(layer) and not (layer._forward_hooks or layer._forward_pre_hooks)


class PackedWeights:
    """The weights and biases of layers that read the same, side by side, with the weights in oneDNN's layout.

    Made at the first use, and made anew where a weight or bias has changed. All of the layers have a bias, or none.
    """

    def __init__(self) -> None:
        self._weight: Optional[torch.Tensor] = None
        self._bias: Optional[torch.Tensor] = None
        # What it was made from. As long as it is here, no other tensor can have its memory.
        self._source: list[torch.Tensor] = []
        self._versions: list[int] = []

    def product(self, x: torch.Tensor, layers: Sequence[nn.Linear]) -> Optional[torch.Tensor]:
        """What ``layers`` make of ``x`` (.., in), one after the other (.., sum of out).

        None where it cannot be used: it is for fp32 on a CPU where no gradient is wanted.
        """
        if torch.is_grad_enabled() or x.dtype != torch.float32 or x.device.type != "cpu":
            return None
        if torch.is_autocast_enabled("cpu") or not is_eager():
            return None
        parameters = [p for layer in layers for p in (layer.weight, layer.bias) if p is not None]
        if any(p.is_inference() for p in parameters):  # these do not say whether they have changed
            return None
        if not self._is_of(parameters):
            if any(p.dtype != torch.float32 or p.device.type != "cpu" for p in parameters):
                return None
            self._pack(layers, parameters)
        return torch.ops.mkldnn._linear_pointwise(x, self._weight, self._bias, "none", [], "")

    def _is_of(self, parameters: list[torch.Tensor]) -> bool:
        return [p._version for p in parameters] == self._versions and all(
            p.data_ptr() == source.data_ptr() for p, source in zip(parameters, self._source)
        )

    def _pack(self, layers: Sequence[nn.Linear], parameters: list[torch.Tensor]) -> None:
        weights = [layer.weight.detach() for layer in layers]
        biases = [layer.bias.detach() for layer in layers if layer.bias is not None]
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weights[0] if len(weights) == 1 else torch.cat(weights))
        self._bias = torch.cat(biases) if biases else None
        self._source = [p.detach() for p in parameters]
        self._versions = [p._version for p in parameters]

    def __reduce__(self) -> tuple[type["PackedWeights"], tuple[()]]:
        return PackedWeights, ()  # copies and pickles make their own
