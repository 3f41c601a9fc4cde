"""A few neighbouring distances of a table with a number for each query and key: its diagonals.

What holds for a few distances costs Tq numbers each on a diagonal, but a look-up for all distances costs Tq x Tk.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch.autograd.function import once_differentiable


def _pairs(table: torch.Tensor, band: torch.Tensor, first: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Views of each diagonal of ``table`` and of what ``band`` has for it."""
    for column in range(band.size(-1)):
        diagonal = table.diagonal(first + column, -2, -1)
        start = max(0, -first - column)
        yield diagonal, band[..., start : start + diagonal.size(-1), column]


def add_to_diagonals_(table: torch.Tensor, band: torch.Tensor, first: int) -> torch.Tensor:
    """Add ``band`` to the diagonals of ``table``.

    Args:
        table: (.., Tq, Tk), changed in place.
        band: (.., Tq, N); number n of row i is for column i + first + n, if there is one.
        first: the first diagonal, as ``torch.diagonal`` counts them.
    """
    for diagonal, numbers in _pairs(table, band, first):
        diagonal += numbers
    return table


def diagonals(table: torch.Tensor, first: int, count: int) -> torch.Tensor:
    """(.., Tq, count): the diagonals of ``table``, and 0 where there is no column."""
    band = table.new_zeros(*table.shape[:-1], count)
    for diagonal, numbers in _pairs(table, band, first):
        numbers.copy_(diagonal)
    return band


class AddToDiagonals(torch.autograd.Function):
    """``add_to_diagonals_`` with gradients."""

    @staticmethod
    def forward(ctx: Any, table: torch.Tensor, band: torch.Tensor, first: int) -> torch.Tensor:
        ctx.first, ctx.count = first, band.size(-1)
        ctx.mark_dirty(table)
        return add_to_diagonals_(table, band, first)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        return grad, diagonals(grad, ctx.first, ctx.count), None


class MixDiagonals(torch.autograd.Function):
    """``weights @ v + diagonals(weights) @ vectors`` with gradients.

    Args:
        weights: (B, H, Tq, Tk).
        v: (B, H, Tk, D).
        vectors: (N, D), one for each diagonal.
        first: as for ``add_to_diagonals_``.
    """

    @staticmethod
    def forward(ctx: Any, weights: torch.Tensor, v: torch.Tensor, vectors: torch.Tensor, first: int) -> torch.Tensor:
        ctx.first = first
        ctx.save_for_backward(weights, v, vectors)
        return (weights @ v).add_(diagonals(weights, first, vectors.size(0)) @ vectors)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad: torch.Tensor
    ) -> tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None, None]:
        weights, v, vectors = ctx.saved_tensors
        of_weights = of_v = of_vectors = None
        if ctx.needs_input_grad[0]:
            of_weights = add_to_diagonals_(grad @ v.transpose(-2, -1), grad @ vectors.t(), ctx.first)
        if ctx.needs_input_grad[1]:
            of_v = weights.transpose(-2, -1) @ grad
        if ctx.needs_input_grad[2]:
            band = diagonals(weights, ctx.first, vectors.size(0))
            of_vectors = band.flatten(0, -2).t() @ grad.flatten(0, -2)
        return of_weights, of_v, of_vectors, None
