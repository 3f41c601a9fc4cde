"""--distance: the hooks of encodings of distances at other distances, in ranges and at numbers."""

import pytest
import torch

from fairseq_posenc.encodings import Stack, encoding_class, encoding_names
from fairseq_posenc.encodings.base import ANY
from fairseq_posenc.encodings.distances import distance_named
from fairseq_posenc.encodings.positions import Positions
from fairseq_posenc.errors import InputError
from tests.support.encodings import CASES, products
from tests.support.models import batch, build_small, build_small_lm, text

HEADS, HEAD_DIM = 3, 4
CPU = torch.device("cpu")
TAKING = [name for name in encoding_names() if encoding_class(name).takes_distance]


def replaced(name, kind, q, k):
    """The definitions, for the numbers of a query and a key."""
    distance = q - k
    steps, sign = abs(distance), -1 if distance < 0 else 1
    if name in ("rope", "xpos") and kind == "group:4,3" and steps > 4:  # of numbers that are rounded each
        return sign * (abs(q // 3 - k // 3) + 4 - 4 // 3)
    if kind == "clamp:4":
        return sign * min(steps, 4)
    return distance if steps <= 4 else sign * (steps // 3 + 4 - 4 // 3)


@pytest.mark.parametrize("causal", [True, False], ids=["decoder", "encoder"])
@pytest.mark.parametrize("kind", ["clamp:4", "group:4,3"])
@pytest.mark.parametrize("name", TAKING)
def test_hooks_equal_references(name, kind, causal):
    torch.manual_seed(0)
    case = CASES[name]
    encoding = encoding_class(name)(Stack(HEADS * HEAD_DIM, HEADS, causal=causal), **case.options).double().eval()
    encoding.test_options, encoding.distance = case.options, distance_named(kind)
    whole, fractions = torch.tensor([[0, 2, 7, 8, 30]]), torch.tensor([[0, 0.5, 3.25, 9.75, 40.5]]).double()
    given = [range(20, 28), Positions(whole, 31)] + [Positions(fractions, 41)] * (encoding.numbers == ANY)
    for idx in given:
        numbers = list(idx) if isinstance(idx, range) else idx.index[0].tolist()
        x = torch.randn(1, HEADS, len(numbers), HEAD_DIM, dtype=torch.float64)
        q, k = encoding.decay(*encoding.rotate(x, x, idx, idx), idx, idx)
        scores, bias = products(encoding, q, k, idx, idx), encoding.bias(idx, idx, CPU)
        scores = scores if bias is None else scores + bias
        mixed = encoding.mix(torch.eye(len(numbers)).roll(1, 0).expand(1, HEADS, -1, -1), x, idx, idx)
        for i, n in enumerate(numbers):
            for j, m in enumerate(numbers[: i + 1] if causal else numbers):
                distance, q, k = replaced(name, kind, n, m), x[0, :, i], x[0, :, j]
                expected = case.score(encoding, q, k, distance, 0) if case.score else (q * k).sum(-1)
                if case.bias:
                    expected = expected + torch.tensor(case.bias(encoding, distance))
                torch.testing.assert_close(scores[0, :, i, j], expected, atol=1e-5, rtol=1e-5)
                if (i - 1) % len(numbers) == j:
                    expected = case.mix(encoding, k, distance, 0) if case.mix else k
                    torch.testing.assert_close(mixed[0, :, i], expected)


@pytest.mark.parametrize("distance", ["clamp:2", "group:2,2"])
@pytest.mark.parametrize("name", ["t5", "shaw", "rope", "xpos"])
def test_of_a_trained_model(name, distance):
    """Nothing changes within W, and what comes after it does; steps equal one pass."""
    model, other = build_small_lm(name).eval(), build_small_lm(name, "--distance", distance).eval()
    other.load_state_dict(model.state_dict())
    tokens = text((9,))
    with torch.no_grad():
        expected, found, state = model(tokens)[0], other(tokens)[0], {}
        steps = [other.decoder(tokens[:, : end + 1], incremental_state=state)[0] for end in range(9)]
    torch.testing.assert_close(torch.cat(steps, dim=1), found, atol=1e-5, rtol=0)
    change = (found - expected).abs().amax(-1)[0]
    assert change[:3].max() < 1e-6 and change[3:].min() > 1e-6


@pytest.mark.parametrize("pattern", ["full", "window:9", "blockwise:12", "sinks:2,window:8"])
@pytest.mark.parametrize("flags", [(), ("--positions", "scale:0.7")], ids=["index", "scale"])
@pytest.mark.parametrize("distance", ["clamp:3", "group:3,2"])
@pytest.mark.parametrize("name", ["rope", "xpos"])
def test_rotations_in_language_models(name, distance, flags, pattern):
    """Keys are cached before they are turned: steps equal one pass, wherever a text begins."""
    flags = ("--distance", distance, "--attention-pattern", pattern, "--max-target-positions", 22, *flags)
    model = build_small_lm(name, *flags).eval()
    for left in (True, False):
        tokens, state = text((22, 9, 15), left=left), {}
        real = tokens != 1
        with torch.no_grad():
            whole = model(tokens)[0]
            steps = [model.decoder(tokens[:, : end + 1], incremental_state=state)[0] for end in range(22)]
            torch.testing.assert_close(torch.cat(steps, dim=1)[real], whole[real], atol=1e-5, rtol=0)
            for row in range(3):
                alone = model(tokens[row, real[row]][None])[0][0]
                torch.testing.assert_close(whole[row, real[row]], alone, atol=1e-5, rtol=0)


@pytest.mark.parametrize("distance", ["clamp:2", "group:2,2"])
@pytest.mark.parametrize("name", ["rope", "xpos"])
def test_rotations_in_translation(name, distance):
    """The encoder too takes padding on either side, and its words notice keys far ahead."""
    model = build_small(name, "--distance", distance).eval()
    plain = build_small(name).eval()
    plain.load_state_dict(model.state_dict())
    left, right = (batch(lengths=(9, 4, 6), left_pad_source=side, left_pad_target=side) for side in (True, False))
    with torch.no_grad():
        found, expected, other = model(**left)[0], model(**right)[0], plain(**left)[0]
    tokens = [sample["prev_output_tokens"] != 1 for sample in (left, right)]
    torch.testing.assert_close(found[tokens[0]], expected[tokens[1]], atol=1e-5, rtol=0)
    assert (found - other)[tokens[0]].abs().max() > 1e-4


def test_rotations_cost_nothing_where_distances_are_plain():
    """Products stay those of fused kernels, of keys that are cached after they are turned."""
    for flags, plain in (((), True), (("--distance", "clamp:5"), False)):
        for name in ("rope", "xpos"):
            encoding = build_small_lm(name, *flags).decoder.embed_positions
            x = torch.ones(1, 2, 4, encoding.stack.head_dim)
            assert encoding.plain_products == plain
            assert torch.equal(encoding.rotate(x, x, range(4), range(4))[1], x) != plain


def test_frequencies_that_go_by_the_length_of_a_text_are_refused():
    flags = ("--rope-scaling", "dynamic-ntk", "--rope-scaling-factor", 2.0, "--rope-original-length", 40)
    with pytest.raises(InputError, match="rope has no distances .*, as its frequencies go by the length of a text"):
        build_small("rope", *flags, "--distance", "clamp:5")


@pytest.mark.parametrize("name", [name for name in encoding_names() if name not in TAKING])
def test_others_are_refused(name):
    with pytest.raises(InputError, match=f"--distance clamp:5: {name} has no distances"):
        build_small(name, "--distance", "clamp:5")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("clmp:5", r"one of plain, clamp:W, group:W,G, but is clmp:5 \(did you mean clamp\?\)"),
        ("clamp", "clamp: write clamp:W, each letter a whole number"),
        ("group:5", "write group:W,G"),
        ("clamp:2.5", "write clamp:W"),
        ("clamp:0", "--distance clamp:0: W must be between 1 and"),
        ("group:5,0", "G must be between 1 and"),
    ],
)
def test_bad_names_are_refused(text, told):
    with pytest.raises(InputError, match=told) as caught:
        distance_named(text)
    assert "\n" not in str(caught.value)
