"""Products of queries with vectors that differ between heads alone."""

import torch


def product_by_head(x: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """x (B, H, T, D) times the vectors of each head (H, D, N): (B, H, T, N), without a copy of them for every text."""
    products = x.transpose(0, 1).flatten(1, 2) @ vectors
    return products.unflatten(1, (x.size(0), x.size(2))).transpose(0, 1)
