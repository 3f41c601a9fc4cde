"""PosNet at the attention level: a kernel, that is a small matrix, for every position of the values."""

from typing import Annotated, Literal

import torch
from torch import nn
from torch.nn import functional as F

from fairseq_posenc.encodings.base import WHOLE, PositionEncoding, Stack
from fairseq_posenc.encodings.dropout import Dropout
from fairseq_posenc.encodings.options import LAYER, MODEL, SIDE, Sharing
from fairseq_posenc.encodings.positional_kernels import PositionalKernels
from fairseq_posenc.encodings.positions import Positions
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.errors import InputError


@register_encoding("posnet-attn")
class PosNetAttn(PositionEncoding):
    """``v_t' = Dropout(ReLU(v_t Phi_position)) + v_t`` on the values of every head (Zhang et al. 2023, Eq 20 and 23).

    Phi (L, D, D) holds one kernel per position, D = head dimension. The paper gives no activation function and there is
    no public code: ReLU, as in the authors' code of PosNet-Embed. Nor does it say who shares Phi; its +1.03 M
    parameters are matched by one kernel tensor with L of about 250 for all heads and layers of the model, the default
    here. Position is the index of a token in its sentence.

    Args:
        stack: what it is built for.
        max_positions: L.
        dropout: of the module's own, before the residual.
        initialization: "tensor" or "slice", see PositionalKernels.
        beyond: what happens past L: "error", or "clamp" (all later positions use the last kernel).
        heads: whether heads share Phi ("shared") or have their own ("separate").

    Raises:
        InputError: a number out of range, or a position beyond L with beyond="error".
    """

    summary = "one D x D kernel per position (weight concatenation), on the values"
    source = "Zhang et al. 2023 (ACL), Eq 20 and 23"
    translation_invariant = False
    numbers = WHOLE
    length_limit = "--posnet-attn-max-positions (or none with --posnet-attn-beyond clamp)"
    sharing = Sharing(
        "kernels",
        "one tensor of kernels for the model, for each side, or for each layer",
        {"model": MODEL, "side": SIDE, "layer": LAYER},
    )

    def __init__(
        self,
        stack: Stack,
        max_positions: Annotated[int, "number of positions with a kernel of their own"] = 512,
        dropout: Annotated[float, "dropout on PosNet's output, before its residual connection"] = 0.0,
        initialization: Annotated[
            Literal["tensor", "slice"],
            "Xavier-normal over the whole kernel tensor (near-identity start) or over each slice",
            "--posnet-attn-init",
        ] = "tensor",
        beyond: Annotated[
            Literal["error", "clamp"],
            "sentences longer than --posnet-attn-max-positions: refuse, or use the last kernel for all later positions",
        ] = "error",
        heads: Annotated[Literal["shared", "separate"], "heads share the kernels, or have their own"] = "shared",
    ) -> None:
        super().__init__(stack)
        if not 0 <= dropout < 1:
            raise InputError(f"--posnet-attn-dropout must be in [0, 1), but is {dropout}")
        head_dim = stack.model_dim // stack.heads
        kernels = [
            PositionalKernels(max_positions, head_dim, initialization, beyond, "--posnet-attn")
            for _ in range(stack.heads if heads == "separate" else 1)
        ]
        self.kernels = nn.ModuleList(kernels)
        self._max_positions = kernels[0].max_positions
        self.dropout = Dropout(dropout, type(self).__name__)

    @property
    def max_positions(self) -> int | None:
        return self._max_positions

    def values(self, v: torch.Tensor, positions: Positions | torch.Tensor) -> torch.Tensor:
        positions = Positions.of(positions)
        if len(self.kernels) > 1:
            turned = torch.stack([kernels(v[:, h], positions) for h, kernels in enumerate(self.kernels)], dim=1)
        else:
            # Heads that share kernels are as many more sentences of the batch.
            if positions.index.size(0) > 1:
                positions = Positions(positions.index.repeat_interleave(v.size(1), 0), positions.stop)
            turned = self.kernels[0](v.flatten(0, 1), positions).view_as(v)
        return v + self.dropout(F.relu(turned))
