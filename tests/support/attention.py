"""Patterns written as loops over pairs of tokens, and attention with the whole matrix of weights."""

import math

import torch

from fairseq_posenc.attention.self_attention import SelfAttention
from fairseq_posenc.encodings import Stack, encoding_class, encoding_names
from tests.support.encodings import CASES, away_from_zero, undefined

HEADS, HEAD_DIM = 2, 4
DIM = HEADS * HEAD_DIM

#: None and every encoding that acts on attention.
ENCODINGS = [None] + [name for name in encoding_names() if encoding_class(name).acts_on_attention()]


def combined(patterns):
    """(name, pattern) of all that are defined together."""
    return [(name, pattern) for name in ENCODINGS for pattern in patterns if not undefined(name, pattern)]


def sees(pattern, i, j):
    """Whether the token at position i attends to that at j: the definition of each pattern."""
    name, _, number = pattern.partition(":")
    if j > i:
        return False
    if name == "sinks":
        sinks, _, window = number.partition(",window:")
        return j < int(sinks) or i - j < int(window)
    if name == "window":
        return i - j < int(number)
    if name == "blockwise":
        block = int(number) // 2
        return j // block in (i // block, i // block - 1)
    return True


def self_attention(name, dtype=torch.float64, max_positions=600):
    """SelfAttention of a causal stack with an encoding of its test row's options, or without any."""
    torch.manual_seed(1)
    module = SelfAttention(DIM, HEADS).to(dtype).eval()
    if name is not None:
        options = dict(CASES[name].options)
        if "max_positions" in options:
            options["max_positions"] = max_positions
        encoding = encoding_class(name)(Stack(DIM, HEADS, causal=True), **options)
        module.attach(away_from_zero(encoding).to(dtype).eval())
    return module


def random_text(length, batch=2, seed=0):
    """(T, B, C) in float64, as self-attention takes it."""
    return torch.randn(length, batch, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def padded(length, lengths, left):
    """(B, length), True at padding, for sentences of these lengths."""
    columns = torch.arange(length)
    rows = [columns < length - n if left else columns >= n for n in lengths]
    return torch.stack(rows)


def dense(module, x, pattern, padding=None):
    """Attention from every x (T, B, C) to all it sees, with (B, H, T, T) weights: (T, B, C)."""
    length, batch, _ = x.shape
    padding = torch.zeros(batch, length, dtype=torch.bool) if padding is None else padding
    tokens = ~padding
    positions = (tokens.cumsum(1) - 1).masked_fill(padding, -1)
    q, k, v = (
        p(x).view(length, batch, HEADS, HEAD_DIM).permute(1, 2, 0, 3)
        for p in (module.q_proj, module.k_proj, module.v_proj)
    )
    hidden = torch.ones(batch, 1, length, length, dtype=torch.bool)
    for b, row in enumerate(positions.tolist()):
        for i in range(length):
            hidden[b, 0, i] = torch.tensor(
                [i != j and (row[j] < 0 or not sees(pattern, row[i], row[j])) for j in range(length)]
            )
    encoding, columns = module.position_encoding, range(length)
    if encoding is None:
        weights = (q @ k.transpose(-2, -1) / math.sqrt(HEAD_DIM)).masked_fill(hidden, -math.inf).softmax(-1)
        out = weights @ v
    else:
        q, k = encoding.rotate(q, k, columns, columns)
        q, k = encoding.extend(q, k, x.transpose(0, 1), None)
        v = encoding.values(v, positions)
        q, k = encoding.decay(q, k, columns, columns)
        scores = encoding.scores(q / math.sqrt(HEAD_DIM), k, columns, columns)
        for bias in (encoding.bias(columns, columns, x.device), encoding.position_bias(positions, columns, columns)):
            scores = scores if bias is None else scores + bias
        out = encoding.mix(scores.masked_fill(hidden, -math.inf).softmax(-1), v, columns, columns)
    return module.out_proj(out.permute(2, 0, 1, 3).reshape(length, batch, DIM))


def in_chunks(module, x, padding, sizes):
    """Attention from x (T, B, C), so many tokens at a time, and what the cache holds in the end."""
    state, parts, start = {}, [], 0
    for size in sizes:
        chunk, mask = x[start : start + size], padding[:, start : start + size]
        # As fairseq does: a mask only for chunks that hold padding.
        parts.append(module(chunk, chunk, chunk, mask if mask.any() else None, state, need_weights=False)[0])
        start += size
    return torch.cat(parts), module._get_input_buffer(state)
