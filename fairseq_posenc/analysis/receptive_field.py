"""Receptive field: which tokens before it a prediction depends on (Chi et al. 2023, section 5)."""

import statistics

import numpy as np
import torch
from torch.nn import functional as F

from fairseq_posenc.analysis.attention_scores import attention_scores
from fairseq_posenc.analysis.bias_curves import RECENT, biases_of
from fairseq_posenc.analysis.curves import thinned
from fairseq_posenc.analysis.extrapolation_protocols import LastToken
from fairseq_posenc.analysis.grid import Measurement
from fairseq_posenc.attention.patterns import Blockwise, Sinks, Window
from fairseq_posenc.tables import aligned, shown

#: The share of the gradient that the empirical receptive field holds.
SHARE = 0.99


def gradient_shares(loaded, inputs, targets):
    """s_m = |g_m| / sum_n |g_n|, with g_m the gradient of the log-probability of a token by the m-th input embedding.

    The embedding is what the model's table gives, before its scale, positions and dropout.

    Args:
        loaded: a LanguageModel.
        inputs: (B, T), what is read; targets: (B,), the token after it.

    Returns:
        (B, T) float64, the shares of each row in their order in the text; they sum to 1.
    """
    model = loaded.model
    device = next(model.parameters()).device
    found = []

    def watch(table, args, embeddings):
        found.append(embeddings.detach().requires_grad_())
        return found[0]

    hook = model.decoder.embed_tokens.register_forward_hook(watch)
    try:
        with torch.enable_grad():
            features = model(inputs.to(device), features_only=True)[0][:, -1:]
            # The segments of a batch do not see each other, so that a sum will do.
            (gradient,) = torch.autograd.grad(sum_of_losses(model, features, targets.to(device)), found)
    finally:
        hook.remove()
    norms = gradient.double().norm(dim=-1).cpu()
    return norms / norms.sum(dim=1, keepdim=True)


def sum_of_losses(model, features, targets):
    """-log p of targets (B,) from features (B, 1, C), summed, in a form that has a gradient."""
    if model.decoder.adaptive_softmax is None:
        logits, wanted = [model.decoder.output_layer(features).squeeze(1)], [targets]
    else:  # for each target its band of words, and for targets in another band than the first their word in it
        logits, wanted = model.decoder.adaptive_softmax(features, targets.unsqueeze(1))
    return sum(
        F.cross_entropy(part.to(torch.promote_types(part.dtype, torch.float32)), index, reduction="sum")
        for part, index in zip(logits, wanted)
        if index is not None
    )


def cumulative(shares):
    """c over the k most recent tokens, k = 1 .. T, from shares (.., T) in the order of the text."""
    return shares.flip(-1).cumsum(dim=-1)


def empirical_field(shares):
    """ERF: the smallest number of most recent tokens whose share exceeds SHARE; (.., T) -> (..) int64.

    The paper's formula, min of all m with c_m > 0.99 for the index m in the text, would be the whole text; its numbers
    (768 of 2048 tokens, say) are these.
    """
    return (cumulative(shares) <= SHARE).sum(dim=-1) + 1


def theoretical_field(pattern, layers):
    """The most tokens that a prediction can depend on: w R for windows of w in R layers; None without a bound.

    Sinks are as many more. Blockwise: one block more than layers, where the last token ends its block.
    """
    if isinstance(pattern, Sinks):
        return pattern.sinks + pattern.size * layers
    if isinstance(pattern, Window):
        return pattern.size * layers
    if isinstance(pattern, Blockwise):
        return pattern.block * (layers + 1)
    return None


def attention_distances(loaded, inputs):
    """The mean distance from query to key, weighted by attention, over all queries of inputs (B, T): (layers, H)."""
    sums = None
    for part in attention_scores(loaded, inputs):
        weights = part.weights()
        device = weights.device
        q, k = (torch.arange(c.start, c.stop, device=device) for c in (part.q_idx, part.kv_idx))
        distances = (q.unsqueeze(1) - k).to(weights.dtype)
        if sums is None:
            sums = torch.zeros(len(loaded.attentions()), weights.size(1), dtype=torch.float64)
        sums[part.layer] += (weights * distances).sum(dim=(2, 3)).double().sum(dim=0).cpu()
    return sums / inputs.numel()


class ReceptiveField(Measurement):
    """What ``fairseq-posenc receptive-field`` measures.

    Args:
        segments, seed: tokens that are drawn, and of the draw.
        max_tokens: of a batch.
    """

    command, kind, kinds = "receptive-field", "receptive-field", ("receptive-field",)
    shortest, needs = 2, "a token to predict and one before it"

    def __init__(self, segments, seed, max_tokens):
        self.protocol, self.max_tokens, self.biases = LastToken(segments, seed), max_tokens, []

    def prepare(self, text, lengths):
        for length in lengths:
            self.protocol.used(len(text), [length])
        return super().prepare(text, lengths)

    def setting(self):
        return {"segments": self.protocol.segments, "seed": self.protocol.seed}

    def inputs(self, length):
        return length - 1  # the last token is predicted

    def check_model(self, loaded, name):
        curves = biases_of(loaded, max(*self.lengths, RECENT))
        self.biases = [{"name": name, "path": loaded.path, **curve} for curve in curves] + self.biases

    def steps(self, cell):
        return self.protocol.segments

    def measure(self, loaded, cell, progress):
        return receptive_field_cell(loaded, self.text, cell["length"], self.protocol, self.max_tokens, progress)

    def fields(self, cells, saved):
        """The biases of all checkpoints, those of this run computed anew."""
        paths = {curve["path"] for curve in self.biases}
        return {"biases": [curve for curve in saved.get("biases", ()) if curve["path"] not in paths] + self.biases}

    def table(self, record):
        """A line a checkpoint, pattern and length."""
        rows = [["system", "pattern", "length", "erf", "of segments", "bound", "attention distance"]]
        for cell in record["cells"]:
            segments = cell["erf_of_segments"]
            own = shown(segments["mean"], "{:.1f}", segments["deviation"])
            layers = " ".join(f"{distance:.1f}" for distance in cell["attention_distance"]["by_layer"])
            numbers = [str(cell["length"]), str(cell["erf"]), own, shown(cell["theoretical"], "{}"), layers]
            rows.append([cell["name"], cell["pattern"], *numbers])
        return "\n".join(aligned(rows, left=2))


def receptive_field_cell(loaded, text, length, protocol, max_tokens, progress=lambda count: None):
    """What a result says of a model at a length, ready for JSON.

    ``erf``: of the shares averaged over segments; ``erf_of_segments``: mean and standard deviation of each one's own.
    ``theoretical``: see theoretical_field. ``curve``: cumulative mean share of the most recent tokens.
    ``attention_distance``: mean over heads, queries and segments, one number per layer, and ``by_head``.

    Args:
        length: of segments, with the token that is predicted.
        protocol: a LastToken, which draws the segments.
        max_tokens: of a batch.
        progress: called with the number of segments after every batch.
    """
    windows = protocol.windows(len(text), length, length, 0)
    all_inputs, shares, distances = text.inputs, [], 0
    together = max(1, max_tokens // length)
    for first in range(0, len(windows), together):
        starts = torch.from_numpy(windows[first : first + together, 0])
        inputs = all_inputs[starts[:, None] + torch.arange(length - 1)]
        targets = text.tokens[torch.from_numpy(windows[first : first + together, 1]) - 1]
        shares.append(gradient_shares(loaded, inputs, targets))
        distances = distances + attention_distances(loaded, inputs) * len(inputs)
        progress(len(inputs))
    shares, distances = torch.cat(shares), distances / len(windows)
    mean = shares.mean(dim=0)
    fields = empirical_field(shares).tolist()
    places = thinned(length - 1)
    return {
        "segments": len(windows),
        "erf": int(empirical_field(mean)),
        "erf_of_segments": {"mean": statistics.fmean(fields), "deviation": float(np.std(fields))},
        "theoretical": theoretical_field(loaded.attentions()[0].pattern, len(loaded.attentions())),
        "curve": {"tokens": [place + 1 for place in places], "share": cumulative(mean)[places].tolist()},
        "attention_distance": {"by_layer": distances.mean(dim=1).tolist(), "by_head": distances.tolist()},
    }
