"""PosNet at the embedding level: a kernel, that is a small matrix, for every position."""

from typing import Annotated, Literal

import torch
from torch import nn

from fairseq_posenc.encodings.base import AFTER_DROPOUT, WHOLE, PositionEncoding, Stack
from fairseq_posenc.encodings.dropout import Dropout
from fairseq_posenc.encodings.limits import check_table
from fairseq_posenc.encodings.options import MODEL, SIDE, Sharing
from fairseq_posenc.encodings.positional_kernels import PositionalKernels
from fairseq_posenc.encodings.positions import Positions
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.errors import InputError


@register_encoding("posnet-embed")
class PosNetEmbed(PositionEncoding):
    """``y = Dropout(ReLU((x W1) Phi_position) W2) + x`` (Zhang et al. 2023, Eq 22 and 24).

    W1 (C, K) and W2 (K, C) are linear maps without bias, Phi (L, K, K) holds one kernel per position, K = kernel_dim.
    It acts after the embedding dropout, just before the first layer, as in the authors' code.

    Where the paper is silent or differs from the authors' code:

    - Position: the index of a token in its sentence. The authors' code takes the tensor column, which left padding
      shifts.
    - Initialisation of Phi: Xavier-normal over the whole tensor ("tensor", the authors' code: a standard deviation
      that shrinks with L, 0.0049 for L = 512 and K = 128, a start near the identity), or over each K x K slice
      ("slice", 0.088).
    - L: 512 in the authors' code; the paper's +3.41 M parameters are matched by one module for encoder and decoder
      with L = 200.

    Args:
        stack: what it is built for.
        max_positions: L.
        kernel_dim: K, 128 for base and 256 for big models in the paper.
        dropout: of the module's own, before the residual; the paper gives no value, the authors' default is 0.
        initialization: "tensor" or "slice".
        beyond: what happens past L: "error", or "clamp" (all later positions use the last kernel).

    Raises:
        InputError: a dimension below 1, a dropout outside [0, 1), a table larger than the memory, or a position beyond
            L with beyond="error".
    """

    summary = "residual bottleneck with one K x K kernel per position (weight concatenation), on the embeddings"
    source = "Zhang et al. 2023 (ACL), Eq 22 and 24"
    translation_invariant = False
    numbers = WHOLE
    length_limit = "--posnet-max-positions (or none with --posnet-beyond clamp)"
    embeds = AFTER_DROPOUT
    flag_prefix = "posnet"
    sharing = Sharing(
        "kernels", "one module for encoder and decoder, or one for each", {"shared": MODEL, "separate": SIDE}
    )
    size_defaults = {"wmt_en_de_big": {"kernel_dim": 256}}

    def __init__(
        self,
        stack: Stack,
        max_positions: Annotated[int, "number of positions with a kernel of their own"] = 512,
        kernel_dim: Annotated[
            int, "dimension of the positional kernels; the paper: 128 base, 256 big", "--posnet-dim"
        ] = 128,
        dropout: Annotated[float, "dropout on PosNet's output, before its residual connection"] = 0.0,
        initialization: Annotated[
            Literal["tensor", "slice"],
            "Xavier-normal over the whole kernel tensor (authors' code, near-identity start) or over each slice",
            "--posnet-init",
        ] = "tensor",
        beyond: Annotated[
            Literal["error", "clamp"],
            "sentences longer than --posnet-max-positions: refuse, or use the last kernel for all later positions",
        ] = "error",
    ) -> None:
        super().__init__(stack)
        if kernel_dim < 1:
            raise InputError(f"--posnet-dim must be at least 1, but is {kernel_dim}")
        if not 0 <= dropout < 1:
            raise InputError(f"--posnet-dropout must be in [0, 1), but is {dropout}")
        check_table(f"--posnet-dim {kernel_dim}", max(kernel_dim, stack.model_dim), kernel_dim)
        self.reduce = nn.Linear(stack.model_dim, kernel_dim, bias=False)
        self.kernels = PositionalKernels(max_positions, kernel_dim, initialization, beyond, "--posnet")
        self.expand = nn.Linear(kernel_dim, stack.model_dim, bias=False)
        self.dropout = Dropout(dropout, type(self).__name__)
        nn.init.xavier_normal_(self.reduce.weight)
        nn.init.xavier_normal_(self.expand.weight)

    @property
    def max_positions(self) -> int | None:
        return self.kernels.max_positions

    def embed(self, x: torch.Tensor, positions: Positions | torch.Tensor) -> torch.Tensor:
        hidden = nn.functional.relu(self.kernels(self.reduce(x), positions))
        return x + self.dropout(self.expand(hidden))
