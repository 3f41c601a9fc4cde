"""Curves over many distances, thinned to few enough points for a file."""

import numpy as np


def thinned(count, finest=64, points=256):
    """Ascending indices into ``count`` numbers: the first ``finest``, and ``points`` in even steps to the last."""
    steps = np.linspace(0, count - 1, min(points, count)).round().astype(int)
    return np.union1d(np.arange(min(finest, count)), steps).tolist()
