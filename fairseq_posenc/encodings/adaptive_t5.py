"""Adaptive-T5: T5's bias as a small network of an exponentially squashed distance."""

from collections.abc import Sequence
from typing import Annotated

import torch
from torch import nn
from torch.nn import functional as F

from fairseq_posenc.encodings.base import Stack
from fairseq_posenc.encodings.dropout import Dropout
from fairseq_posenc.encodings.limits import check_table
from fairseq_posenc.encodings.options import FIRST, LAYER, SIDE, Sharing
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.encodings.relative import RelativeBias
from fairseq_posenc.errors import InputError

#: All numbers of a network start around this standard deviation (weights) or at it (biases), as in the authors' code.
START = 0.1


class HeadNetworks(nn.Module):
    """One network 1 -> hidden -> hidden -> 1 per head: a sigmoid after each hidden layer, dropout after the first."""

    def __init__(self, heads: int, sizes: Sequence[int], dropout: Dropout) -> None:
        super().__init__()
        widths = [1, *sizes, 1]
        self.weights = nn.ParameterList(torch.empty(heads, *shape) for shape in zip(widths, widths[1:]))
        self.biases = nn.ParameterList(torch.full((heads, 1, width), START) for width in widths[1:])
        for weight in self.weights:
            nn.init.trunc_normal_(weight, std=START, a=-2 * START, b=2 * START)
        self.dropout = dropout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(H, N) -> (H, N), in fp32."""
        x = x.unsqueeze(-1)
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            x = torch.baddbmm(bias.float(), x, weight.float())
            if layer < last:
                x = torch.sigmoid(x)
            if layer == 0:
                x = self.dropout(x)
        return x.squeeze(-1)


@register_encoding("adaptive-t5")
class AdaptiveT5(RelativeBias):
    """``bias = network(f)``, with f = 1 - exp(-rate |distance|) between 0 and 1 (Wu et al. 2021).

    Every head has a learned rate and a network of two small hidden layers for each direction; distance 0 belongs to
    the past. Rates are ReLU(a)/256. Encoder and decoder have their own.

    As in the authors' code, a starts uniform in (1, 15), weights from a normal distribution of standard deviation 0.1
    cut off at twice that, biases at 0.1, and dropout follows the first hidden layer only.

    The authors' code has the bias in the first layer alone by default (``--adaptive-t5-layers first``); their paper
    speaks of every attention layer (``shared`` or ``separate`` parameters).

    While training, dropout draws once for each distance of a batch, not for each pair of tokens.

    Raises:
        InputError: a hidden layer below 1 or beyond the memory, or a dropout outside [0, 1).
    """

    summary = "small network per head of a squashed distance"
    source = "Wu et al. 2021; compared in Zhang et al. 2023 (ACL), Table 1"

    sharing = Sharing(
        "layers",
        "in the first layer alone (the authors' code), or in all, with common parameters or their own",
        {"first": FIRST, "shared": SIDE, "separate": LAYER},
    )

    def __init__(
        self,
        stack: Stack,
        hidden: Annotated[int, "width of the first hidden layer"] = 16,
        second_hidden: Annotated[int, "width of the second hidden layer"] = 4,
        dropout: Annotated[float, "dropout after the first hidden layer"] = 0.5,
    ) -> None:
        super().__init__(stack)
        for flag, width in (("hidden", hidden), ("second-hidden", second_hidden)):
            if width < 1:
                raise InputError(f"--adaptive-t5-{flag} must be at least 1, but is {width}")
        sizes = f"--adaptive-t5-hidden {hidden} with --adaptive-t5-second-hidden {second_hidden}"
        check_table(sizes, stack.heads, hidden, second_hidden)
        if not 0 <= dropout < 1:
            raise InputError(f"--adaptive-t5-dropout must be in [0, 1), but is {dropout}")
        directions = ["past"] if stack.causal else ["past", "future"]
        self.networks = nn.ModuleDict(
            {
                d: HeadNetworks(stack.heads, (hidden, second_hidden), Dropout(dropout, type(self).__name__))
                for d in directions
            }
        )
        self.rates = nn.ParameterDict(
            {d: nn.Parameter(torch.empty(stack.heads, 1).uniform_(1, 15)) for d in directions}
        )

    def begin_pass(self) -> None:
        for module in self.modules():
            if isinstance(module, Dropout):
                module.draw_seed()

    def by_distance(self, distances: torch.Tensor) -> torch.Tensor:
        steps = distances.abs().float()
        past = self._direction("past", steps)
        return past if self.stack.causal else torch.where(distances < 0, self._direction("future", steps), past)

    def _direction(self, name: str, steps: torch.Tensor) -> torch.Tensor:
        return self.networks[name](-torch.expm1(-F.relu(self.rates[name].float()) / 256 * steps))
