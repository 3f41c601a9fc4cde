"""Biases by distance, and log curves fitted to them (Chi et al. 2023, section 6)."""

import torch

from fairseq_posenc.analysis.curves import thinned
from fairseq_posenc.encodings import Stack, encoding_class

#: Distances of the second fit: the paper's footnote 7, "the most recent 50 points".
RECENT = 50


def log_fit(bias):
    """(a, b) of the least-squares curve a log(1 + n) + b through bias (N,) at distances n = 0 .. N - 1."""
    y = bias.double()
    x = torch.arange(len(y), dtype=torch.float64).log1p()
    # Not torch.linalg.lstsq: its last digits depend on where in memory its arguments lie.
    dx = x - x.mean()
    a = (dx @ (y - y.mean()) / (dx @ dx)).item() if len(y) > 1 else 0.0
    return a, (y.mean() - a * x.mean()).item()


def bias_by_distance(encoding, length):
    """The bias of an encoding at distances 0 .. length - 1: (H, length) float64, or None if it has no bias."""
    if not encoding.overrides("bias"):
        return None
    device = next((tensor.device for tensor in [*encoding.parameters(), *encoding.buffers()]), torch.device("cpu"))
    with torch.no_grad():
        return encoding.bias(range(length - 1, length), range(length), device)[:, 0].flip(-1).double().cpu()


def curve(bias, points=128):
    """A bias (N,) at selected distances, with its fits through all distances and the nearest ones, ready for JSON."""
    distances = thinned(len(bias), points=points)
    fits = {"all": log_fit(bias), "recent": log_fit(bias[:RECENT])}
    return {
        "distance": distances,
        "bias": bias[distances].tolist(),
        "fits": {points: {"a": a, "b": b} for points, (a, b) in fits.items()},
    }


def biases_of(loaded, length):
    """The biases of a LanguageModel: [{"layers": [..], "head": h, **curve}], layers from 1; empty without a bias."""
    layers = {}
    for layer, attention in enumerate(loaded.attentions(), start=1):
        if attention.position_encoding is not None:
            layers.setdefault(attention.position_encoding, []).append(layer)
    curves = []
    for encoding, its_layers in layers.items():
        biases = bias_by_distance(encoding, length)
        for head, bias in enumerate([] if biases is None else biases, start=1):
            curves.append({"layers": its_layers, "head": head, **curve(bias)})
    return curves


def sandwich_curves(dims, length):
    """The bias of Sandwich with h = 8 for each number of dimensions (Figures 8, 9 and 10), ready for JSON."""
    # With a single head, h = 8n/H is 8.
    stack = Stack(model_dim=max(dims), heads=1, max_positions=length, causal=True)
    return [
        {
            "name": "sandwich",
            "dim": dim,
            **curve(bias_by_distance(encoding_class("sandwich")(stack, dim=dim), length)[0], points=512),
        }
        for dim in dims
    ]
