"""The attention scores of a model by the naive formulas of the encodings, pair by pair."""

import math

import torch

from tests.support.encodings import CASES


def naive_scores(loaded, inputs, visible):
    """{(layer, query, key): (H,)} of the visible pairs of inputs (1, T), one at a time, in float64."""
    found, taken, read = {}, [], []
    hooks = [
        projection.register_forward_hook(lambda module, args, output: taken.append(output.double()))
        for attention in loaded.attentions()
        for projection in (attention.q_proj, attention.k_proj)
    ]
    hooks += [
        attention.q_proj.register_forward_hook(lambda module, args, output: read.append(args[0][:, 0].double()))
        for attention in loaded.attentions()
    ]
    loaded.model(inputs)
    for hook in hooks:
        hook.remove()
    for layer, attention in enumerate(loaded.attentions()):
        encoding = attention.position_encoding
        case = CASES["none" if encoding is None else encoding.name]
        if encoding is not None:
            encoding.test_options = case.options
        shape = (inputs.size(1), attention.num_heads, attention.head_dim)
        q, k = (taken[2 * layer + part].view(shape) for part in (0, 1))
        for i in range(inputs.size(1)):
            for j in range(i + 1):
                if visible(i, j):
                    score = (q[i] * k[j]).sum(1) if case.score is None else case.score(encoding, q[i], k[j], i, j)
                    score = score / math.sqrt(attention.head_dim)
                    if case.score_between is not None:
                        query, keys = q[i] / math.sqrt(attention.head_dim), k[j : i + 1].flip(0)
                        score = case.score_between(encoding, query, keys, ahead=False)
                    if case.bias is not None:
                        score = score + torch.as_tensor(case.bias(encoding, i - j), dtype=torch.float64)
                    if case.position_bias is not None:
                        score = score + torch.as_tensor(case.position_bias(encoding, i, i - j), dtype=torch.float64)
                    if case.content_bias is not None:
                        added = case.content_bias(encoding, read[layer], i, j)
                        score = score + torch.as_tensor(added, dtype=torch.float64)
                    found[layer, i, j] = score
    return found


#: Pattern -> whether query i sees key j, j <= i, by its definition in the papers.
PATTERNS = {
    "full": lambda i, j: True,
    "window:4": lambda i, j: i - j < 4,
    "blockwise:6": lambda i, j: i // 3 - j // 3 <= 1,
}
