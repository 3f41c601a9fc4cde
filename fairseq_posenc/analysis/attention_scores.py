"""The attention scores of a model before the softmax, from its own attention."""

from dataclasses import dataclass

import torch
from torch.nn import functional as F


@dataclass
class ScoreSlice:
    """The scores of consecutive queries with all keys that the pattern lets one of them see.

    Args:
        layer: number of the layer, from 0.
        q_idx, kv_idx: ranges; the queries are the last of the keys.
        scores: (B, H, Tq, Tk) in fp32 or better, the argument of the softmax: q k / sqrt(D) with all that the encoding
            does to it, its bias too.
        visible: (Tq, Tk) bool, where a query attends.
    """

    layer: int
    q_idx: range
    kv_idx: range
    scores: torch.Tensor
    visible: torch.Tensor

    def weights(self):
        """The attention weights, (B, H, Tq, Tk)."""
        return self.scores.masked_fill(~self.visible, float("-inf")).softmax(dim=-1)


@torch.no_grad()
def attention_scores(loaded, inputs):
    """Run a LanguageModel over inputs (B, T); yield the ScoreSlices of every layer, in order."""
    for layer, (call, q, k, q_idx) in enumerate(attention_calls(loaded, inputs)):
        for some_q, some_k, scores, visible in call.scores(q, k, q_idx):
            if visible is None:
                visible = torch.ones(1, 1, *scores.shape[2:], dtype=torch.bool, device=scores.device)
            yield ScoreSlice(layer, some_q, some_k, scores, visible[0, 0])


def attention_calls(loaded, inputs):
    """[(AttentionCall, q, k, q_idx)] of every layer in a pass over inputs (B, T): what its attention computes with."""
    calls, attentions = [], loaded.attentions()
    for attention in attentions:
        attention.observer = lambda *call: calls.append(call)
    try:
        loaded.model(inputs.to(next(loaded.model.parameters()).device), features_only=True)
    finally:
        for attention in attentions:
            attention.observer = None
    return calls


def sums_by_distance(values):
    """(.., Tq, Tk) -> (.., Tk): sums over all pairs of index of the query minus index of the key 0, 1, .. Tk - 1.

    The queries are the last Tq of the keys.
    """
    queries, keys = values.shape[-2:]
    # Keys backwards, and every row moved on by its number: a column then holds one distance.
    rows = F.pad(values.flip(-1), (0, queries)).flatten(-2)[..., : queries * (keys + queries - 1)]
    return rows.unflatten(-1, (queries, keys + queries - 1)).sum(dim=-2)[..., queries - 1 :]
