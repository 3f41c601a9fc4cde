"""Products of queries with vectors that differ between heads alone."""

import torch


def product_by_head(x: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """x (B, H, T, D) times the vectors of each head (H, D, N): (B, H, T, N)."""
    if x.size(2) > 1:
        return x @ vectors
    # PyTorch would copy the vectors for every text first, which takes longer than the product.
    return (x.transpose(0, 1).squeeze(2) @ vectors).transpose(0, 1).unsqueeze(2)
