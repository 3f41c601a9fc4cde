"""Dynamic position bias: a network of the distance."""

from typing import Annotated, Literal, Optional

import torch
from torch.nn import functional as F

from fairseq_posenc.encodings.base import Stack
from fairseq_posenc.encodings.limits import check_table
from fairseq_posenc.encodings.network import Network
from fairseq_posenc.encodings.options import LAYER, SIDE, Sharing
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.encodings.relative import RelativeBias
from fairseq_posenc.errors import InputError


@register_encoding("dynamic-bias")
class DynamicBias(RelativeBias):
    """``bias_h = MLP_h(n)``, n the distance with its sign, or ``sign(n) ln(|n| + 1)`` with ``spacing="log"``.

    The network has two hidden layers of ``dim`` SiLU units and an output for each head, as in x-transformers.
    CrossFormer (Wang et al. 2022), where the idea is from, has layer normalisation and ReLU; the continuous bias of
    Swin v2 (Liu et al. 2022, section 3.3), from which the logarithm is, has one hidden layer. Weights and biases start
    as those of PyTorch's linear layers, as in x-transformers.

    Raises:
        InputError: ``dim`` below 1, or more than the memory holds.
    """

    summary = "network of the distance, or of its logarithm"
    source = "Wang et al. 2022 (CrossFormer); Liu et al. 2022 (Swin v2), section 3.3"

    sharing = Sharing("layers", "all layers share a network, or not", {"shared": SIDE, "separate": LAYER})

    def __init__(
        self,
        stack: Stack,
        dim: Annotated[Optional[int], "units of a hidden layer (default: a quarter of the model dimension)"] = None,
        spacing: Annotated[
            Literal["linear", "log"], "what the network reads: the distance, or its logarithm"
        ] = "linear",
    ) -> None:
        super().__init__(stack)
        if dim is None:
            dim = max(1, stack.model_dim // 4)
        if dim < 1:
            raise InputError(f"--dynamic-bias-dim must be at least 1, but is {dim}")
        check_table(f"--dynamic-bias-dim {dim}", dim, dim)
        self.spacing = spacing
        self.network = Network([1, dim, dim, stack.heads], F.silu)

    def by_distance(self, distances: torch.Tensor) -> torch.Tensor:
        x = distances.float()
        if self.spacing == "log":
            x = x.sign() * x.abs().log1p()
        return self.network(x.unsqueeze(1)).T
