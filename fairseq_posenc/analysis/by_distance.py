"""Encodings as functions of distance, computed through their hooks, so that a new encoding needs no code here.

Distance is query position minus key position: positive in the past, negative in the future.
"""

import math

import torch

from fairseq_posenc.analysis.curves import thinned
from fairseq_posenc.encodings import Stack, encoding_class
from fairseq_posenc.errors import InputError

#: Measure -> the hooks whose effect it shows.
MEASURES = {
    "bias": ("bias", "position_bias"),
    "score": ("rotate", "extend", "decay", "scores"),
    "mixed value": ("mix",),
    "embedding": ("embed",),
    "value": ("values",),
}
VECTORS = 64  # number of random vectors over which cosines are averaged
#: Curves have every distance below FINEST, and POINTS in even steps up to the longest.
FINEST = POINTS = 1024


def untrained(names, heads, longest):
    """The encodings of these names, with default options and 64 dimensions per head: [(encoding, "encoder"), ..].

    Each is built for an encoder and for a decoder, with positions up to ``longest``.
    """
    encodings = []
    for name in names:
        for side in ("encoder", "decoder"):
            torch.manual_seed(0)
            stack = Stack(64 * heads, heads, max_positions=longest + 1, causal=side == "decoder")
            encodings.append((encoding_class(name)(stack).eval(), side))
    return encodings


def measures_of(encoding):
    """The names of the measures that this encoding affects; "score" for an encoding without hooks."""
    names = [name for name, hooks in MEASURES.items() if any(encoding.overrides(hook) for hook in hooks)]
    return names or ["score"]


def trained(path, layer=1):
    """The encodings of a layer of the model in a checkpoint of this package: [(encoding, "encoder"), ..].

    Raises InputError if the file is not such a checkpoint, or the layer has no encoding.
    """
    # fairseq takes seconds to import: only for checkpoints.
    from fairseq_posenc.averaging import read_checkpoint

    state = read_checkpoint(path)
    try:
        return list(_encodings_in(path, state, layer))
    except InputError:
        raise
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, ArithmeticError, RuntimeError) as error:
        reason = str(error).split("\n")[0][:200]
        raise InputError(
            f"cannot build the encodings from the settings in {path} ({type(error).__name__}: {reason}); use another "
            "checkpoint"
        ) from error


def _encodings_in(path, state, layer):
    from fairseq.models.transformer import TransformerConfig

    from fairseq_posenc.models.checks import check_layers
    from fairseq_posenc.models.configuration import given_settings
    from fairseq_posenc.models.options import settle_options
    from fairseq_posenc.models.stack import build_encodings

    args = given_settings(state["cfg"]["model"] if state.get("cfg") else state.get("args"))
    sides = [side for side in ("encoder", "decoder") if getattr(args, f"{side}_position_encoding", None)]
    if not sides:
        raise InputError(f"{path} names no position encoding; give a checkpoint of a model of this package")
    check_layers(args, sides)
    # A checkpoint knows nothing of the options that are newer than it is.
    settle_options(args, {getattr(args, f"{side}_position_encoding") for side in sides})
    cfg = TransformerConfig.from_namespace(args)
    for side in sides:
        encodings = build_encodings(cfg, side, padding_idx=1)
        if not 1 <= layer <= len(encodings):
            raise InputError(f"--layer {layer}: the {side} of {path} has layers 1 to {len(encodings)}")
        encoding = encodings[layer - 1]
        if encoding is None:
            raise InputError(f"--layer {layer}: the {side} of {path} has an encoding in layer 1 only; leave it out")
        prefix = f"{side}.later_positions.{layer - 2}." if encoding is not encodings[0] else f"{side}.embed_positions."
        weights = {name[len(prefix) :]: tensor for name, tensor in state["model"].items() if name.startswith(prefix)}
        encoding.float().load_state_dict(weights)
        yield encoding.eval(), side


@torch.no_grad()
def curves(encoding, longest):
    """Return {measure: (distances, values (H, n))}, with a single row if all heads are equal.

    Distances are all those below FINEST, and POINTS in even steps up to ``longest``.

    - ``bias``: the term added to the score after the division by sqrt(D); of a query at position ``longest``.
    - ``score``: the score of a query and a key of ones, divided by their score at distance 0; in a layer that reads
      zeros, where that matters.
    - ``mixed value``: with all attention on one key, the distance of the attention output from the value of that key,
      divided by the norm of the value; mean over random values.
    - ``embedding``, ``value``: cosine between a vector at position 0 and the same vector at position n, minus 1 (the
      cosine without positions); mean over random vectors of variance 1.

    Distances run from -longest to longest in an encoder and from 0 in a decoder. For ``embedding`` and ``value`` they
    run from 0 in both, because these depend on the position only.

    Raises InputError if the encoding has fewer positions.
    """
    if encoding.max_positions is not None and longest >= encoding.max_positions:
        raise InputError(
            f"--distance {longest} needs {longest + 1} positions, but {encoding.name} has {encoding.max_positions} "
            f"({encoding.length_limit}); give a smaller --distance"
        )
    result = {}
    for measure in measures_of(encoding):
        distances = thinned(longest + 1, FINEST, POINTS)
        if measure in ("embedding", "value"):
            values = _CURVES[measure](encoding, torch.tensor([distances]))
        else:
            if not encoding.stack.causal:
                distances = [-distance for distance in distances[:0:-1]] + distances
            # One query and one key at a time: all keys together would take memory that grows with the distance.
            query = range(longest, longest + 1)
            keys = [range(longest - distance, longest - distance + 1) for distance in distances]
            values = _CURVES[measure](encoding, query, keys)
        equal_heads = torch.allclose(values, values[:1].expand_as(values))
        result[measure] = distances, (values[:1] if equal_heads else values).double()
    return result


def _bias(encoding, query, keys):
    if encoding.overrides("position_bias"):
        position = torch.tensor([[query.start]])
        return torch.cat([encoding.position_bias(position, query, key)[0, :, 0] for key in keys], dim=-1)
    return torch.cat([encoding.bias(query, key, torch.device("cpu"))[:, 0] for key in keys], dim=-1)


def _head_dim(encoding):
    return encoding.stack.model_dim // encoding.stack.heads


def _score(encoding, query, keys):
    # As in attention, all queries and keys of a text are turned together: how may depend on its length.
    columns = range(max(idx.stop for idx in (query, *keys)))
    ones = torch.ones(1, encoding.stack.heads, len(columns), _head_dim(encoding))
    q, k = encoding.rotate(ones, ones, columns, columns)
    # What depends on the input of a layer is shown for an input of zeros.
    q, k = encoding.extend(q, k, torch.zeros(1, len(columns), encoding.stack.model_dim), None)
    q = q / math.sqrt(_head_dim(encoding))
    if encoding.counts_between:  # of all keys at once, one of them after the other
        scores = encoding.scores(q[:, :, query.start : query.stop], k, query, columns)[0, :, 0]
        return scores[:, [key.start for key in keys]] / scores[:, query.start : query.stop]

    def score(key):
        some_q, some_k = (x[:, :, idx.start : idx.stop] for x, idx in ((q, query), (k, key)))
        return encoding.scores(*encoding.decay(some_q, some_k, query, key), query, key)[0, :, 0]

    return torch.cat([score(key) for key in keys], dim=-1) / score(query)


def _mixed_value(encoding, query, keys):
    values = _random(VECTORS, 1, 1, _head_dim(encoding)).expand(-1, encoding.stack.heads, -1, -1)
    weights = torch.ones(VECTORS, encoding.stack.heads, 1, 1)
    mixed = torch.stack([encoding.mix(weights, values, query, key) for key in keys])
    return ((mixed - values).norm(dim=-1) / values.norm(dim=-1)).mean(dim=1)[..., 0].T


def _embedding(encoding, positions):
    x = _random(VECTORS, 1, encoding.stack.model_dim).expand(-1, positions.size(1), -1)
    return _cosine_with_first(encoding.embed(x, positions)).mean(dim=0, keepdim=True)


def _value(encoding, positions):
    v = _random(VECTORS, 1, 1, _head_dim(encoding)).expand(-1, encoding.stack.heads, positions.size(1), -1)
    return _cosine_with_first(encoding.values(v, positions)).mean(dim=0)


def _random(*shape):
    """Random vectors, the same at every call."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def _cosine_with_first(vectors):
    """(.., T, D) -> (.., T): cosine of each vector with the first of its sequence, minus 1."""
    return torch.cosine_similarity(vectors, vectors[..., :1, :], dim=-1) - 1


_CURVES = {"bias": _bias, "score": _score, "mixed value": _mixed_value, "embedding": _embedding, "value": _value}
