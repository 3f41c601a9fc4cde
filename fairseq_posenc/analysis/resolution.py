"""Attention resolution: how well attention tells distances apart (Sun et al. 2023, section 3.1 and 4.3)."""

import math

import numpy as np
import torch

from fairseq_posenc.analysis.attention_scores import attention_scores, sums_by_distance
from fairseq_posenc.analysis.curves import thinned
from fairseq_posenc.analysis.grid import Measurement
from fairseq_posenc.errors import InputError
from fairseq_posenc.tables import aligned, groups, mean_and_deviation, shown


def resolution(expected):
    """R(s) = sum_i e^s[i] (e^s[i] - e^s[i+1]) / (sum_i e^s[i])^2 (Eq 4), from s (.., N) at distances 0 .. N - 1.

    Distances at which nothing attends have s = -inf and do not count; the sum runs over those i for which i and i + 1
    count. R is at most 1 (the values above 1 in the paper's Table 3 have another, unknown unit).
    """
    expected = torch.as_tensor(expected, dtype=torch.float64)
    shares = expected.softmax(dim=-1)
    counts = expected.isfinite()
    both = counts[..., :-1] & counts[..., 1:]
    return (shares[..., :-1] * (shares[..., :-1] - shares[..., 1:]) * both).sum(dim=-1)


def expected_scores(loaded, text, length, count, progress=lambda: None):
    """s[n], the mean score of a query and the key n before it (Eq 3 and 13).

    A pair that the model's pattern hides has no score, and is left out of the mean.

    Args:
        loaded: a LanguageModel; text: a Text.
        length, count: the texts, so many pieces of ``text`` of this length, evenly spread over it.
        progress: called after every piece.

    Returns:
        (layers, H, length) float64, the mean over texts; -inf at distances that are hidden everywhere.
    """
    inputs, sums = text.inputs, None
    for start in piece_starts(len(text), length, count):
        for part in attention_scores(loaded, inputs[None, start : start + length]):
            if sums is None:
                sums = torch.zeros(len(loaded.attentions()), part.scores.size(1), length, dtype=torch.float64)
                pairs = torch.zeros(length, dtype=torch.float64)
            scores = part.scores[0].double().masked_fill(~part.visible, 0.0)
            found = slice(0, len(part.kv_idx))
            sums[part.layer, :, found] += sums_by_distance(scores).cpu()
            if part.layer == 0:
                pairs[found] += sums_by_distance(part.visible.double()).cpu()
        progress()
    return torch.where(pairs > 0, sums / pairs.clamp(min=1), -math.inf)


def piece_starts(tokens, length, count):
    """Where ``count`` pieces of a text begin. Raises InputError where they would overlap."""
    if count * length > tokens:
        raise InputError(
            f"--texts {count} of length {length} take {count * length} tokens, but the text has {tokens}; give fewer "
            "texts, a smaller length or a longer text"
        )
    return np.linspace(0, tokens - length, count).astype(int).tolist()


class Resolution(Measurement):
    """What ``fairseq-posenc resolution`` measures, on so many ``texts`` at each length."""

    command, kind, kinds = "resolution", "resolution", ("resolution",)
    shortest, needs = 2, "distances"

    def __init__(self, texts):
        self.texts = texts

    def prepare(self, text, lengths):
        for length in lengths:
            piece_starts(len(text), length, self.texts)
        return super().prepare(text, lengths)

    def setting(self):
        return {"texts": self.texts}

    def check_model(self, loaded, name):
        loaded.attentions()

    def steps(self, cell):
        return self.texts

    def measure(self, loaded, cell, progress):
        return resolution_cell(loaded, self.text, cell["length"], self.texts, progress)

    def table(self, record):
        """A line a system, pattern and length: the mean over seeds, and their standard deviation."""
        rows = [["system", "pattern", "length", "resolution", "mean of heads"]]
        for (name, pattern, length), seeds in groups(record["cells"], "name", "pattern", "length").items():
            values = (mean_and_deviation([cell[key] for cell in seeds]) for key in ("resolution", "mean_of_heads"))
            rows.append([name, pattern, str(length), *(shown(mean, "{:.4f}", deviation) for mean, deviation in values)])
        return "\n".join(aligned(rows, left=2))


def resolution_cell(loaded, text, length, count, progress=lambda: None):
    """What a result says of a model at a length, ready for JSON.

    ``resolution``: of s averaged over texts, heads and layers. ``mean_of_heads``: the mean of the resolutions of every
    head's own s, ``by_layer`` the same of every layer. ``curve``: s at some distances.
    """
    by_head = expected_scores(loaded, text, length, count, progress)
    mean = by_head.mean(dim=(0, 1))
    of_heads = resolution(by_head)
    last = int(mean.isfinite().nonzero().max())
    distances = thinned(last + 1)
    return {
        "texts": count,
        "resolution": float(resolution(mean)),
        "mean_of_heads": float(of_heads.mean()),
        "by_layer": of_heads.mean(dim=1).tolist(),
        "curve": {"distance": distances, "score": mean[distances].tolist()},
    }


def closed_form(dim, length, gamma=None, scale_base=512.0):
    """g[n] = sum_i cos(n theta_i) zeta_i^(n/B) at n = 0 .. length - 1 (Eq 10), (length,) float64.

    theta_i = 10000^(-2i/d) and zeta_i = (2i/d + gamma)/(1 + gamma) for i = 0 .. d/2 - 1. Without ``gamma``, zeta = 1,
    which is RoPE.
    """
    pairs = torch.arange(0, dim, 2, dtype=torch.float64) / dim
    n = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    zeta = torch.ones_like(pairs) if gamma is None else (pairs + gamma) / (1 + gamma)
    return ((n * 10000**-pairs).cos() * zeta ** (n / scale_base)).sum(dim=1)


def closed_form_curves(dim, length, gamma, scale_base):
    """The curves of Figure 2, ready for JSON, each with the resolution of g/sqrt(d)."""
    found = []
    for name, given in (("rope", None), ("xpos", gamma)):
        g, distances = closed_form(dim, length, given, scale_base), thinned(length, finest=256, points=1024)
        found.append(
            {
                "name": name,
                "resolution": float(resolution(g / math.sqrt(dim))),
                "curve": {"distance": distances, "score": g[distances].tolist()},
            }
        )
    return found
