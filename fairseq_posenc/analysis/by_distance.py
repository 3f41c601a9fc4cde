"""What an encoding does at every distance, read from its hooks, so that a new encoding needs no code of its own here.

Distance is query position less key position: positive in the past, negative in the future.
"""

import torch

from fairseq_posenc.analysis.curves import thinned
from fairseq_posenc.encodings import Stack, encoding_class
from fairseq_posenc.errors import InputError

#: What is measured -> the hooks that it shows.
MEASURES = {
    "bias": ("bias",),
    "score": ("rotate", "decay", "scores"),
    "mixed value": ("mix",),
    "embedding": ("embed",),
    "value": ("values",),
}
VECTORS = 64  # random vectors that a cosine is the mean of
FINEST = POINTS = 1024  # every distance below the first, and as many in even steps to the last


def untrained(names, heads, longest):
    """The encodings of these names, with default options and 64 dimensions per head: [(encoding, "encoder"), ..].

    Each for an encoder and for a decoder, for positions up to ``longest``.
    """
    found = []
    for name in names:
        for side in ("encoder", "decoder"):
            torch.manual_seed(0)
            stack = Stack(64 * heads, heads, max_positions=longest + 1, causal=side == "decoder")
            found.append((encoding_class(name)(stack).eval(), side))
    return found


def measures_of(encoding):
    """The names of the measures that show something of this encoding; "score" for one without any hook."""
    found = [name for name, hooks in MEASURES.items() if any(encoding.overrides(hook) for hook in hooks)]
    return found or ["score"]


def trained(path, layer=1):
    """The encodings of a layer of the model in a checkpoint of this package: [(encoding, "encoder"), ..].

    Raises InputError where the file is no such checkpoint, or the layer has no encoding.
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
            f"{path} has settings that do not give its encodings ({type(error).__name__}: {reason}); use another one"
        ) from error


def _encodings_in(path, state, layer):
    from fairseq.models.transformer import TransformerConfig

    from fairseq_posenc.models.checks import check_layers
    from fairseq_posenc.models.stack import build_encodings

    args = state["cfg"]["model"] if state.get("cfg") else state.get("args")
    sides = [side for side in ("encoder", "decoder") if getattr(args, f"{side}_position_encoding", None)]
    if not sides:
        raise InputError(f"{path} names no position encoding; give a checkpoint of a model of this package")
    check_layers(args, sides)
    cfg = TransformerConfig.from_namespace(args)
    for side in sides:
        encodings = build_encodings(cfg, side, padding_idx=1)
        if not 1 <= layer <= len(encodings):
            raise InputError(f"--layer {layer}: the {side} of {path} has layers 1 to {len(encodings)}")
        encoding = encodings[layer - 1]
        if encoding is None:
            raise InputError(f"--layer {layer}: the {side} of {path} has its encoding in layer 1 alone")
        own = f"{side}.later_positions.{layer - 2}." if encoding is not encodings[0] else f"{side}.embed_positions."
        weights = {name[len(own) :]: tensor for name, tensor in state["model"].items() if name.startswith(own)}
        encoding.float().load_state_dict(weights)
        yield encoding.eval(), side


@torch.no_grad()
def curves(encoding, longest):
    """Return {measure: (distances, values (H, n))} with one row where all heads are equal.

    Distances are all below FINEST, and POINTS in even steps to ``longest``.

    - ``bias``: what is added to the score after 1/sqrt(D).
    - ``score``: of a query and a key of ones, relative to distance 0.
    - ``mixed value``: how far what a query gets lies from the key's value, relative to the value's norm, where all
      attention is on that key; mean over random values.
    - ``embedding``, ``value``: cosine of a vector at position 0 and the same at position n, less 1, the cosine without
      positions; mean over random vectors of variance 1.

    An encoder's distances run from -longest to longest, a decoder's from 0. Those of ``embedding`` and ``value`` run
    from 0 for both, as only the positions count.

    Raises InputError where the encoding takes fewer positions.
    """
    if encoding.max_positions is not None and longest >= encoding.max_positions:
        raise InputError(
            f"--distance {longest} needs {longest + 1} positions, but {encoding.name} has {encoding.max_positions} "
            f"({encoding.length_limit}); give a smaller --distance"
        )
    found = {}
    for measure in measures_of(encoding):
        distances = thinned(longest + 1, FINEST, POINTS)
        if measure in ("embedding", "value"):
            values = _CURVES[measure](encoding, torch.tensor([distances]))
        else:
            if not encoding.stack.causal:
                distances = [-distance for distance in distances[:0:-1]] + distances
            # One query, and one key at a time: all of them together would take memory that grows with the distance.
            query = range(longest, longest + 1)
            keys = [range(longest - distance, longest - distance + 1) for distance in distances]
            values = torch.cat([_CURVES[measure](encoding, query, key) for key in keys], dim=-1)
        same = torch.allclose(values, values[:1].expand_as(values))
        found[measure] = distances, (values[:1] if same else values).double()
    return found


def _bias(encoding, q_idx, kv_idx):
    return encoding.bias(q_idx, kv_idx, torch.device("cpu"))[:, 0]


def _head_dim(encoding):
    return encoding.stack.model_dim // encoding.stack.heads


def _score(encoding, q_idx, kv_idx):
    return _score_of_ones(encoding, q_idx, kv_idx) / _score_of_ones(encoding, q_idx, q_idx)


def _score_of_ones(encoding, q_idx, kv_idx):
    q = k = torch.ones(1, encoding.stack.heads, 1, _head_dim(encoding))
    # As attention does it: new queries and keys are turned together.
    k = encoding.rotate(k, k, kv_idx, kv_idx)[1]
    q = encoding.rotate(q, q, q_idx, q_idx)[0]
    q, k = encoding.decay(q, k, q_idx, kv_idx)
    return encoding.scores(q, k, q_idx, kv_idx)[0, :, 0]


def _mixed_value(encoding, q_idx, kv_idx):
    values = _random(VECTORS, 1, 1, _head_dim(encoding)).expand(-1, encoding.stack.heads, -1, -1)
    mixed = encoding.mix(torch.ones(VECTORS, encoding.stack.heads, 1, 1), values, q_idx, kv_idx)
    return ((mixed - values).norm(dim=-1) / values.norm(dim=-1)).mean(dim=0)


def _embedding(encoding, positions):
    x = _random(VECTORS, 1, encoding.stack.model_dim).expand(-1, positions.size(1), -1)
    return _cosine_with_first(encoding.embed(x, positions)).mean(dim=0, keepdim=True)


def _value(encoding, positions):
    v = _random(VECTORS, 1, 1, _head_dim(encoding)).expand(-1, encoding.stack.heads, positions.size(1), -1)
    return _cosine_with_first(encoding.values(v, positions)).mean(dim=0)


def _random(*shape):
    """The same vectors at every call, and in every head and at every position of what is made of them."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def _cosine_with_first(vectors):
    """(.., T, D) -> (.., T): cosine of each with the first of its sequence, less 1."""
    return torch.cosine_similarity(vectors, vectors[..., :1, :], dim=-1) - 1


_CURVES = {"bias": _bias, "score": _score, "mixed value": _mixed_value, "embedding": _embedding, "value": _value}
