"""One row an encoding: how the tests build it, and its hooks written naively. A new encoding joins by a new row.

A reference is a loop over tokens in float64 that follows the paper's equation; it may read the encoding's
parameters, never call its methods.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Optional

import pytest
import torch

from fairseq_posenc.encodings import PositionEncoding, encoding_class, encoding_names

#: One encoding of each kind: nothing, embeddings, values, scores, a learned bias, rotation, rotation with a scale, a
#: bias of the query's position, wider queries and keys, what lies between query and key.
KINDS = ("none", "sinusoidal", "posnet-attn", "shaw", "t5", "rope", "xpos", "fire", "forgetting", "cope")


def one_of_each_kind():
    """Parameters of tests that take seconds per encoding: the slow tests have the others."""
    return [pytest.param(name, marks=() if name in KINDS else pytest.mark.slow) for name in encoding_names()]


def undefined(name, pattern):
    """Whether a pattern hides keys of which this encoding (None: no encoding) needs those in between."""
    return name is not None and encoding_class(name).counts_between and str(pattern).startswith("sinks")


def away_from_zero(model):
    """The same model, with numbers in what encodings start at 0, so that tests can see what it does."""
    generator = torch.Generator().manual_seed(11)
    for module in model.modules():
        for parameter in module.parameters() if isinstance(module, PositionEncoding) else ():
            if parameter.dim() > 1 and not parameter.any():
                with torch.no_grad():
                    parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))
    return model


@dataclass(frozen=True)
class Case:
    """How to test one encoding.

    Args:
        options: constructor arguments that keep it small.
        embed: naive ``(encoding, x (T, C), positions (list of int)) -> (T, C)``, for encodings that embed.
        bias: naive ``(encoding, distance = query column - key column) -> one number per head``.
        position_bias: naive ``(encoding, position of the query in its text, distance) -> one number per head``.
        content_bias: naive ``(encoding, x (T, C), row of the query, row of the key) -> one number per head``, from
            what the layer reads.
        score: naive ``(encoding, q (H, D), k (H, D), q_column, k_column) -> (H,)``, before the bias and 1/sqrt(D).
        score_between: naive ``(encoding, q (H, D), keys (n, H, D), ahead) -> (H,)``, the same where it depends on the
            keys from the query to its key, which is the last; they come after the query if ``ahead``.
        values: naive ``(encoding, v (H, D), position) -> (H, D)``.
        mix: naive ``(encoding, v (H, D), q_column, k_column) -> (H, D)``, the value as a query sees it.
        informs: whether a model can learn word order from it.
        tolerance: of the fp32 numbers inside (tables), against float64.
        variants: more constructor arguments, to be tested against the same references.
    """

    options: dict = field(default_factory=dict)
    embed: Optional[Callable] = None
    bias: Optional[Callable] = None
    position_bias: Optional[Callable] = None
    content_bias: Optional[Callable] = None
    score: Optional[Callable] = None
    score_between: Optional[Callable] = None
    values: Optional[Callable] = None
    mix: Optional[Callable] = None
    informs: bool = True
    tolerance: float = 1e-9
    variants: tuple = ()


def sinusoidal(encoding, x, positions):
    half = x.size(1) // 2
    out = x.clone()
    for row, position in enumerate(positions):
        for i in range(half):
            angle = (position + encoding.stack.first_row) / 10000 ** (i / (half - 1))
            out[row, i] += math.sin(angle)
            out[row, half + i] += math.cos(angle)
    return out


def learned(encoding, x, positions):
    first = encoding.stack.first_row
    return torch.stack([x[row] + encoding.weight[first + position] for row, position in enumerate(positions)])


def posnet_embed(encoding, x, positions):
    rows = []
    for row, position in enumerate(positions):
        kernel = encoding.kernels.weight[min(position, encoding.kernels.weight.size(0) - 1)]
        bottleneck = (encoding.reduce.weight @ x[row]) @ kernel
        rows.append(encoding.expand.weight @ bottleneck.clamp(min=0) + x[row])
    return torch.stack(rows)


def posnet_attn(encoding, v, position):
    rows = []
    for head, row in enumerate(v):
        weight = encoding.kernels[min(head, len(encoding.kernels) - 1)].weight
        rows.append(row + (row @ weight[min(position, weight.size(0) - 1)]).clamp(min=0))
    return torch.stack(rows)


def alibi_slopes(heads, slopes="authors"):
    """2^-(8/H), 2^-(16/H), ..; for other numbers of heads the authors interleave the slopes of two powers of two."""
    if slopes == "authors" and heads & (heads - 1):
        lower = 2 ** math.floor(math.log2(heads))
        return [*alibi_slopes(lower), *alibi_slopes(2 * lower)[::2][: heads - lower]]
    return [2 ** (-8 * n / heads) for n in range(1, heads + 1)]


def alibi(encoding, distance):
    options = encoding.test_options
    slopes = alibi_slopes(encoding.stack.heads, options.get("slopes", "authors"))
    if "same_exponent" in options:
        slopes = [2 ** -options["same_exponent"]] * encoding.stack.heads
    slopes = [slope * 2 ** -options.get("shift", 0) for slope in slopes]
    steps, numbers = abs(distance), []
    form = "decoder" if encoding.stack.causal else options.get("encoder", "symmetric")
    for head, slope in enumerate(slopes):
        hidden = form == "split" and distance and (distance < 0) == (head % 2 == 0)
        extra = 0.5 if form == "offset" and distance < 0 else 0
        numbers.append(-1e4 if hidden else -slope * (steps + extra))
    return numbers


def sandwich(encoding, distance):
    dim, first = encoding.test_options["dim"], encoding.test_options.get("index_base", "zero") == "one"
    numbers = []
    for n in range(1, encoding.stack.heads + 1):
        total = sum(math.cos(distance / 10000 ** (2 * i / dim)) for i in range(first, dim // 2 + first))
        numbers.append((total - dim / 2) / (8 * n / encoding.stack.heads))
    return numbers


def sandwich_smoothed(encoding, distance):
    a, b = {"all": (-0.825, -0.8), "recent": (-1.02, -0.02)}[encoding.test_options.get("fit", "all")]
    heads = encoding.stack.heads
    return [(a * math.log(1 + abs(distance)) + b) * 8 / (8 * n / heads) for n in range(1, heads + 1)]


def kerple_log(encoding, distance):
    r1, r2 = ([math.log(1 + math.exp(x)) for x in p.flatten().tolist()] for p in (encoding.free_r1, encoding.free_r2))
    return [-a * math.log(1 + b * abs(distance)) for a, b in zip(r1, r2)]


def kerple_power(encoding, distance):
    r1 = [math.log(1 + math.exp(x)) for x in encoding.free_r1.flatten().tolist()]
    r2 = [2 / (1 + math.exp(-x)) for x in encoding.free_r2.flatten().tolist()]
    return [-a * abs(distance) ** b for a, b in zip(r1, r2)]


def t5_bucket(steps, buckets, max_distance):
    """In whole numbers: bucket b > exact begins where (steps/exact)^(buckets-exact) = (max/exact)^(b-exact)."""
    exact = buckets // 2
    if steps < exact:
        return steps
    wide = buckets - exact
    begun = [
        b
        for b in range(exact, buckets)
        if steps**wide * exact ** (b - exact) >= max_distance ** (b - exact) * exact**wide
    ]
    return max(begun)


def t5(encoding, distance):
    options = encoding.test_options
    buckets, max_distance = options["buckets"], options["max_distance"]
    if encoding.stack.causal:
        row = t5_bucket(distance, buckets, max_distance)
    else:
        row = t5_bucket(abs(distance), buckets // 2, max_distance) + (buckets // 2 if distance < 0 else 0)
    head_dim = encoding.stack.model_dim / encoding.stack.heads
    factor = math.sqrt(head_dim) if options.get("scale") == "sqrt-dim" else 1
    return [factor * number for number in encoding.weight[row].tolist()]


def adaptive_t5(encoding, distance):
    direction, numbers = "future" if distance < 0 else "past", []
    network, rates = encoding.networks[direction], encoding.rates[direction]
    for head in range(encoding.stack.heads):
        rate = max(0, rates[head].item()) / 256
        hidden = [1 - math.exp(-rate * abs(distance))]
        for layer in range(3):
            weight, bias = network.weights[layer][head].detach(), network.biases[layer][head, 0].detach()
            hidden = [sum(x * w for x, w in zip(hidden, column)) + b for column, b in zip(weight.T, bias)]
            if layer < 2:
                hidden = [1 / (1 + math.exp(-x)) for x in hidden]
        numbers.append(float(hidden[0]))
    return numbers


def shaw_row(encoding, q_column, k_column):
    clip = encoding.test_options["clip"]
    return min(max(k_column - q_column, -clip), clip) + clip


def shaw(encoding, q, k, q_column, k_column):
    return (q * (k + encoding.keys[shaw_row(encoding, q_column, k_column)])).sum(-1)


def shaw_mix(encoding, v, q_column, k_column):
    return v + encoding.vectors[shaw_row(encoding, q_column, k_column)]


def pairwise(q, k, angles, decays):
    """Sum over pairs of dimensions of decay x Re((q0 + i q1) conj(k0 + i k1) e^(i angle))."""
    total = []
    for q_head, k_head in zip(q.tolist(), k.tolist()):
        score = 0
        for i, (angle, decay) in enumerate(zip(angles, decays)):
            product = complex(*q_head[2 * i : 2 * i + 2]) * complex(*k_head[2 * i : 2 * i + 2]).conjugate()
            score += decay * (product * complex(math.cos(angle), math.sin(angle))).real
        total.append(score)
    return torch.tensor(total, dtype=torch.float64)


def yarn_share(i, dim, base, options):
    """How far the i-th frequency is divided by s: the ramp between two whole numbers of the authors' code."""

    def pair_of(turns):
        return dim * math.log(options["original_length"] / (turns * 2 * math.pi)) / (2 * math.log(base))

    low = max(math.floor(pair_of(options.get("beta_fast", 32))), 0)
    high = min(math.ceil(pair_of(options.get("beta_slow", 1))), dim - 1)
    return min(max((i - low) / (high - low), 0), 1)


def frequency(i, dim, base, options):
    """By what a step of one position turns the i-th pair of dimensions."""
    method, s = options.get("scaling", "none"), options.get("scaling_factor", 1)
    if method == "ntk":
        base = base * s ** (dim / (dim - 2))
    angle = base ** (-2 * i / dim)
    wavelength = 2 * math.pi / angle
    if i >= math.floor(options.get("keep", 1) * dim / 2) or wavelength > options.get("max_wavelength", math.inf):
        return 0
    if method == "linear":
        return angle / s
    if method == "yarn":
        share = yarn_share(i, dim, base, options)
        return angle / s * share + angle * (1 - share)
    if method == "llama3":
        low, high = options.get("low_freq_factor", 1), options.get("high_freq_factor", 4)
        if wavelength > options["original_length"] / low:
            return angle / s
        if wavelength < options["original_length"] / high:
            return angle
        t = (options["original_length"] / wavelength - low) / (high - low)
        return (1 - t) * angle / s + t * angle
    if method == "longrope":  # in texts that are not longer than those of training
        return angle / float(options["short_factor"].split(",")[i])
    return angle


def attention_factor(options):
    """What queries and keys are multiplied by."""
    s = options.get("scaling_factor", 1)
    usual = {
        "yarn": lambda: 0.1 * math.log(s) + 1,
        "longrope": lambda: math.sqrt(1 + math.log(s) / math.log(options["original_length"])),
    }
    return options.get("attention_factor") or usual.get(options.get("scaling"), lambda: 1)()


def rope(encoding, q, k, q_column, k_column):
    options = encoding.test_options
    dim = int(options.get("fraction", 1) * q.size(1))
    base = options.get("base", 10000)
    angles = [(q_column - k_column) * frequency(i, dim, base, options) for i in range(dim // 2)]
    still = (q.size(1) - dim) // 2
    return pairwise(q, k, angles + still * [0], [attention_factor(options) ** 2] * len(angles) + [1] * still)


def xpos(encoding, q, k, q_column, k_column):
    options, pairs = encoding.test_options, q.size(1) // 2
    gamma, distance = options.get("gamma", 0.4), q_column - k_column
    angles = [distance * frequency(i, 2 * pairs, options.get("base", 10000), options) for i in range(pairs)]
    if options.get("rotation") == "off":
        angles = [0] * pairs
    zeta = [(i / pairs + gamma) / (1 + gamma) for i in range(pairs)]
    if options.get("decay") == "scalar":
        zeta = [gamma / (1 + gamma)] * pairs
    if options.get("decay") == "none":
        zeta = [1] * pairs
    factor = attention_factor(options) ** 2
    return pairwise(q, k, angles, [factor * z ** (abs(distance) / options.get("scale_base", 512)) for z in zeta])


def network(x, layers, activation):
    """The outputs (a list) of linear layers with an activation between them, one number at a time."""
    hidden = x
    for depth, layer in enumerate(layers):
        last = depth == len(layers) - 1
        weight, bias = layer.weight.tolist(), len(layer.weight) * [0] if last else layer.bias.tolist()
        hidden = [sum(w * h for w, h in zip(row, hidden)) + b for row, b in zip(weight, bias)]
        if not last:
            hidden = [activation(h) for h in hidden]
    return hidden


def dynamic_bias(encoding, distance):
    if encoding.test_options.get("spacing") == "log":
        distance = math.copysign(math.log(abs(distance) + 1), distance)
    return network([distance], encoding.network.layers, lambda x: x / (1 + math.exp(-x)))


def fire(encoding, position, distance):
    c, longest = abs(encoding.c.item()), abs(encoding.test_options["length"] * encoding.length_factor.item())
    larger = max(position, position - distance, longest)
    share = math.copysign(math.log(c * abs(distance) + 1), distance) / math.log(c * larger + 1)
    return network([share], encoding.network.layers, lambda x: max(x, 0))


def forgetting(encoding, x, q_row, k_row):
    heads, numbers = encoding.stack.heads, []
    weight, bias = encoding.gates.weight.detach().double(), encoding.gates.bias.detach().double()
    between = range(k_row + 1, q_row + 1) if k_row <= q_row else range(q_row, k_row)
    for head in range(heads):
        gate = head if k_row <= q_row else heads + head  # the second half is for keys ahead
        opened = [1 / (1 + math.exp(-float(x[row] @ weight[gate] + bias[gate]))) for row in between]
        numbers.append(sum(math.log(f) for f in opened))
    return numbers


def key_of_distance(encoding, distance):
    """W R(distance), (H, D): sines, then cosines, of the distance times 10000^(-2i/C)."""
    dim = encoding.stack.model_dim
    angles = [distance * 10000 ** (-2 * i / dim) for i in range(dim // 2)]
    sinusoids = [f(angle) for f in (math.sin, math.cos) for angle in angles]
    key = encoding.project.weight.detach().double() @ torch.tensor(sinusoids, dtype=torch.float64)
    return key.view(encoding.stack.heads, -1)


def transformer_xl(encoding, q, k, q_column, k_column):
    """(q + u) k + (q + v) W R."""
    by_content = (q + encoding.content_query) * k
    return (by_content + (q + encoding.position_query) * key_of_distance(encoding, q_column - k_column)).sum(-1)


def cope(encoding, q, keys, ahead):
    """q k + sqrt(D) q e[p], p by one gate after the other; queries are divided by sqrt(D)."""
    count, scores = encoding.test_options["positions"], []
    for head in range(len(q)):
        products = [float(q[head] @ key[head]) for key in keys]
        p = min(sum(1 / (1 + math.exp(-x)) for x in products), count - 1)
        below = math.floor(p)
        rows = encoding.weight.detach().double()[count if ahead else 0 :]
        e = (1 - (p - below)) * rows[below] + ((p - below) * rows[below + 1] if p > below else 0)
        scores.append(products[-1] + math.sqrt(len(q[head])) * float(q[head] @ e))
    return torch.tensor(scores, dtype=torch.float64)


def products(encoding, q, k, q_idx, kv_idx):
    """What ``scores`` gives, before 1/sqrt(D), as the references have it: attention divides the queries before."""
    scale = 1 if encoding.overrides("extend") or encoding.counts_between else math.sqrt(q.size(-1))
    return scale * encoding.scores(q / scale, k, q_idx, kv_idx)


def deberta_row(options, distance):
    """delta of the paper, with the logarithmic steps of the authors' code: 0 far ahead, 2 span - 1 far behind."""
    span, steps = options["span"], abs(distance)
    if options.get("spacing") != "plain" and steps > span // 2:
        middle, most = span // 2, options["max_distance"] - 1
        # Step middle + n ends at the largest distance d with (d / middle)^(middle - 1) <= (most / middle)^n.
        ended = [
            middle + n
            for n in range(1, middle)
            if steps ** (middle - 1) * middle**n <= most**n * middle ** (middle - 1)
        ]
        steps = min(ended, default=span)
    return min(max((steps if distance > 0 else -steps) + span, 0), 2 * span - 1)


def deberta(encoding, q, k, q_column, k_column):
    """(q k + q K[d(i, j)] + k Q[d(j, i)]) / sqrt(3)."""
    table = encoding.table.detach()

    def vector(project, distance):
        return (project.weight.detach() @ table[deberta_row(encoding.test_options, distance)]).view(len(q), -1)

    key, query = vector(encoding.project_key, q_column - k_column), vector(encoding.project_query, k_column - q_column)
    return (q * k + q * key + k * query).sum(-1) / math.sqrt(3)


YARN = {"scaling": "yarn", "scaling_factor": 4.0, "original_length": 40, "beta_fast": 5.0, "beta_slow": 2.0}
LLAMA3 = {"scaling": "llama3", "scaling_factor": 8.0, "original_length": 20, "high_freq_factor": 3.0}
LONGROPE = {"scaling": "longrope", "scaling_factor": 4.0, "short_factor": "1,1.5", "long_factor": "2,3"}

CASES = {
    "none": Case(informs=False),
    "sinusoidal": Case(embed=sinusoidal, tolerance=1e-5),
    "learned": Case(embed=learned),
    "posnet-embed": Case(options={"max_positions": 64, "kernel_dim": 4}, embed=posnet_embed),
    "posnet-attn": Case(
        options={"max_positions": 64, "initialization": "slice"},
        values=posnet_attn,
        variants=({"heads": "separate"},),
    ),
    "shaw": Case(options={"clip": 3}, score=shaw, mix=shaw_mix),
    "t5": Case(options={"buckets": 8, "max_distance": 16}, bias=t5, variants=({"scale": "sqrt-dim"},)),
    "adaptive-t5": Case(
        options={"hidden": 3, "second_hidden": 2},
        bias=adaptive_t5,
    ),
    "alibi": Case(
        bias=alibi,
        variants=(
            {"slopes": "geometric", "shift": 2.0},
            {"same_exponent": 4.0},
            {"encoder": "split"},
            {"encoder": "offset", "shift": -3.0},
        ),
    ),
    "sandwich": Case(options={"dim": 16}, bias=sandwich, variants=({"index_base": "one"},)),
    "sandwich-smoothed": Case(bias=sandwich_smoothed, variants=({"fit": "recent"},)),
    "kerple-log": Case(bias=kerple_log),
    "kerple-power": Case(bias=kerple_power),
    "dynamic-bias": Case(options={"dim": 3}, bias=dynamic_bias, variants=({"spacing": "log"},)),
    "fire": Case(options={"hidden": 4, "length": 3.0}, position_bias=fire, variants=({"length": 24.0},)),
    "forgetting": Case(content_bias=forgetting, variants=({"start": 3.0},)),
    "transformer-xl": Case(score=transformer_xl),
    "cope": Case(options={"positions": 4}, score_between=cope, variants=({"positions": 20},)),
    "deberta": Case(
        options={"span": 6, "max_distance": 9},
        score=deberta,
        variants=(
            {"span": 4, "spacing": "plain", "max_distance": None},
            {"span": 20, "spacing": "plain", "max_distance": None},
            {"span": 8, "max_distance": 7},
        ),
    ),
    "rope": Case(
        score=rope,
        variants=(
            {"base": 100.0},
            {"fraction": 0.5},
            {"keep": 0.5},
            {"base": 8.0, "max_wavelength": 10.0},
            {"scaling": "linear", "scaling_factor": 2.0, "keep": 0.5},
            {"scaling": "ntk", "scaling_factor": 4.0},
            {"base": 8.0, **YARN},
            {"base": 8.0, **YARN, "attention_factor": 1.5},
            {"base": 3.0, **LLAMA3},
            {**LONGROPE, "original_length": 40},
        ),
    ),
    "xpos": Case(
        options={"scale_base": 4.0},
        score=xpos,
        variants=(
            {"gamma": 1.5, "base": 50.0},
            {"rotation": "off"},
            {"decay": "none"},
            {"decay": "scalar", "scale_base": 100.0},
            {"base": 8.0, **YARN},
        ),
    ),
}

#: Every encoding with its own options, and with those of each variant: (name, options).
VARIANTS = [(name, {**case.options, **extra}) for name, case in CASES.items() for extra in ({}, *case.variants)]
