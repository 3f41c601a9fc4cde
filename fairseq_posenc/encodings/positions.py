"""From padding to positions."""

import torch

#: The position of padding. Encodings may compute anything there, as nothing attends to it.
PADDING = -1


def can_look():
    """Whether Python may look at numbers in tensors, and take a shorter way where they allow it.

    Not while PyTorch compiles or exports a model: the way must then be right for all numbers.
    """
    return not torch.compiler.is_compiling()


def token_positions(padding_mask):
    """The index of every token in its own sentence, wherever the padding is.

    Args:
        padding_mask: (B, T), True at padding.

    Returns:
        (B, T) int64: 0 for the first token of a sentence, PADDING at padding. Where no sentence starts with padding
        the rows differ only at padding, and one row (1, T) stands for all.
    """
    if can_look() and not padding_mask[:, :1].any():
        return torch.arange(padding_mask.size(1), device=padding_mask.device).unsqueeze(0)
    tokens = ~padding_mask
    return (tokens.cumsum(dim=1) - 1).masked_fill(padding_mask, PADDING)
