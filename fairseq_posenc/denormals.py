"""Denormal numbers, those nearest to zero, on CPUs."""

import numpy as np
import torch


def flush_denormals() -> None:
    """Make this thread, and all that it starts from now on, take denormal numbers as zero.

    In fp32 these are the numbers below 1.2e-38. A bias that falls with the distance, or a forgetting gate, makes many
    of them in the softmax, and products with them take a CPU some hundred times as long as with other numbers. Nothing
    happens on processors that have no such mode, and GPUs do not need it.
    """
    for dtype in (np.float32, np.float64):
        np.finfo(dtype)  # NumPy looks for denormal numbers at the first call, and warns where there are none
    torch.set_flush_denormal(True)
