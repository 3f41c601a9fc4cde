"""One row an encoding: how the tests build it, and its hooks written naively. A new encoding joins by a new row.

A reference is a loop over tokens in float64 that follows the paper's equation; it may read the encoding's
parameters, never call its methods.
"""

import math
from dataclasses import dataclass, field
from typing import Callable, Optional

import torch


@dataclass(frozen=True)
class Case:
    """How to test one encoding.

    Args:
        options: constructor arguments that keep it small.
        embed: naive ``(encoding, x (T, C), positions (list of int)) -> (T, C)``, for encodings that embed.
        bias: naive ``(encoding, q_column, k_column) -> (H,)``.
        rotate: naive ``(encoding, q (H, D), k (H, D), q_column, k_column) -> (q, k)``.
        values: naive ``(encoding, v (H, D), position) -> (H, D)``.
        informs: whether a model can learn word order from it.
        tolerance: of the fp32 numbers inside (tables), against float64.
    """

    options: dict = field(default_factory=dict)
    embed: Optional[Callable] = None
    bias: Optional[Callable] = None
    rotate: Optional[Callable] = None
    values: Optional[Callable] = None
    informs: bool = True
    tolerance: float = 1e-9


def sinusoidal(encoding, x, positions):
    half = x.size(1) // 2
    out = x.clone()
    for row, position in enumerate(positions):
        for i in range(half):
            angle = (position + encoding.stack.first_row) / 10000 ** (i / (half - 1))
            out[row, i] += math.sin(angle)
            out[row, half + i] += math.cos(angle)
    return out


def learned(encoding, x, positions):
    first = encoding.stack.first_row
    return torch.stack([x[row] + encoding.weight[first + position] for row, position in enumerate(positions)])


def posnet_embed(encoding, x, positions):
    rows = []
    for row, position in enumerate(positions):
        kernel = encoding.kernels[min(position, encoding.kernels.size(0) - 1)]
        bottleneck = (encoding.reduce.weight @ x[row]) @ kernel
        rows.append(encoding.expand.weight @ bottleneck.clamp(min=0) + x[row])
    return torch.stack(rows)


CASES = {
    "none": Case(informs=False),
    "sinusoidal": Case(embed=sinusoidal, tolerance=1e-5),
    "learned": Case(embed=learned),
    "posnet-embed": Case(options={"max_positions": 64, "kernel_dim": 4}, embed=posnet_embed),
}
