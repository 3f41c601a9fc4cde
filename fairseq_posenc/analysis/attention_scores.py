"""The attention scores of a model before the softmax, computed once more from what its layers read."""

import math
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from fairseq_posenc.attention.masks import visible_keys

#: Scores of a slice of queries hold about this many numbers (64 MiB in fp32).
SLICE = 2**24


@dataclass
class ScoreSlice:
    """The scores of consecutive queries with all keys that the pattern lets one of them see.

    Args:
        layer: number of the layer, from 0.
        q_columns, k_columns: ranges; the queries are the last of the keys.
        scores: (B, H, Tq, Tk) in fp32 or better, the argument of the softmax: q k / sqrt(D) with all that the encoding
            does to it, its bias too.
        visible: (Tq, Tk) bool, where a query attends.
    """

    layer: int
    q_columns: range
    k_columns: range
    scores: torch.Tensor
    visible: torch.Tensor

    def weights(self):
        """The attention weights, (B, H, Tq, Tk)."""
        return self.scores.masked_fill(~self.visible, float("-inf")).softmax(dim=-1)


@torch.no_grad()
def attention_scores(loaded, inputs):
    """Run a LanguageModel over inputs (B, T); yield the ScoreSlices of every layer, in order."""
    for layer, (attention, x) in enumerate(layer_inputs(loaded, inputs)):
        yield from _scores_of_layer(layer, attention, x)


def layer_inputs(loaded, inputs):
    """[(SelfAttention, what it reads (T, B, C))] of every layer in a pass over inputs (B, T)."""
    read = []

    def keep(attention, args, named):
        read.append((attention, args[0] if args else named["query"]))

    with ExitStack() as hooks:
        for attention in loaded.attentions():
            hooks.callback(attention.register_forward_pre_hook(keep, with_kwargs=True).remove)
        loaded.model(inputs.to(next(loaded.model.parameters()).device), features_only=True)
    return read


def _scores_of_layer(layer, attention, x):
    length, batch, _ = x.shape
    shape = (length, batch, attention.num_heads, attention.head_dim)
    q, k = (projection(x).view(shape).permute(1, 2, 0, 3) for projection in (attention.q_proj, attention.k_proj))
    encoding, pattern = attention.position_encoding, attention.pattern
    if encoding is not None:
        q, k = encoding.rotate(q, k, range(length), range(length))
    size = max(1, SLICE // (batch * attention.num_heads * length))
    for start in range(0, length, size):
        q_columns = range(start, min(start + size, length))
        k_columns = range(max(0, pattern.first_visible(start)), q_columns.stop)
        some_q, some_k = (x[:, :, part.start : part.stop] for x, part in ((q, q_columns), (k, k_columns)))
        bias = None
        if encoding is None:
            products = some_q @ some_k.transpose(-2, -1)
        else:
            some_q, some_k = encoding.decay(some_q, some_k, q_columns, k_columns)
            products = encoding.scores(some_q, some_k, q_columns, k_columns)
            bias = encoding.bias(q_columns, k_columns, x.device)
        scores = products.to(torch.promote_types(products.dtype, torch.float32)) / math.sqrt(attention.head_dim)
        scores = scores if bias is None else scores + bias
        visible = visible_keys(q_columns, k_columns, pattern, None, x.device)
        if visible is None:
            visible = torch.ones(1, 1, len(q_columns), len(k_columns), dtype=torch.bool, device=x.device)
        yield ScoreSlice(layer, q_columns, k_columns, scores, visible[0, 0])


def sums_by_distance(values):
    """(.., Tq, Tk) -> (.., Tk): sums over all pairs of query column less key column 0, 1, .. Tk - 1.

    The queries are the last Tq of the keys.
    """
    queries, keys = values.shape[-2:]
    # Keys backwards, and every row moved on by its number: a column then holds one distance.
    rows = F.pad(values.flip(-1), (0, queries)).flatten(-2)[..., : queries * (keys + queries - 1)]
    return rows.unflatten(-1, (queries, keys + queries - 1)).sum(dim=-2)[..., queries - 1 :]
