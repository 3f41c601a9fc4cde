"""Every hook of every encoding against its naive reference, forward and backward."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairseq_posenc.encodings import Stack, encoding_class, encoding_names
from fairseq_posenc.encodings.positions import PADDING, token_positions
from fairseq_posenc.errors import InputError
from tests.support.encodings import CASES, VARIANTS, away_from_zero, products
from tests.support.fuzzing import examples

HEADS, HEAD_DIM = 3, 4
CPU = torch.device("cpu")
#: Hook -> the field of a Case that holds its naive form.
REFERENCES = {
    "embed": "embed",
    "rotate": "score",
    "decay": "score",
    "extend": "content_bias",
    "scores": "score",
    "bias": "bias",
    "position_bias": "position_bias",
    "mix": "mix",
    "values": "values",
}
EMBEDDING = [name for name in encoding_names() if encoding_class(name).overrides("embed")]
ATTENDING = [(name, options) for name, options in VARIANTS if encoding_class(name).acts_on_attention()]


def build(name, causal=True, options=None, first_row=2, heads=HEADS, head_dim=HEAD_DIM):
    torch.manual_seed(0)
    stack = Stack(heads * head_dim, heads, max_positions=64, causal=causal, first_row=first_row)
    options = CASES[name].options if options is None else options
    encoding = away_from_zero(encoding_class(name)(stack, **options)).double().eval()
    encoding.test_options = options
    return encoding


def attend(encoding, x, q_idx, kv_idx):
    """Attention over the last queries of x (B, H, Tk, D) by the hooks, as (scores before softmax, outputs).

    The layer reads the heads side by side, from a text that begins in column 0.
    """
    q, k = encoding.rotate(x[:, :, -len(q_idx) :], x, q_idx, kv_idx)
    if encoding.overrides("extend"):
        q, k = encoding.extend(x, x, x.transpose(1, 2).flatten(2), None)
        q = q[:, :, -len(q_idx) :]
    q, k = encoding.decay(q, k, q_idx, kv_idx)
    scores = products(encoding, q, k, q_idx, kv_idx)
    biases = encoding.bias(q_idx, kv_idx, CPU), encoding.position_bias(torch.tensor([[*q_idx]]), q_idx, kv_idx)
    for bias in biases:
        scores = scores if bias is None else scores + bias
    if encoding.stack.causal:
        hidden = torch.tensor([[j > i for j in kv_idx] for i in q_idx])
        scores = scores.masked_fill(hidden, float("-inf"))
    values = encoding.values(x, torch.arange(len(kv_idx)).unsqueeze(0))
    return scores, encoding.mix(scores.softmax(-1), values, q_idx, kv_idx)


@pytest.fixture(params=encoding_names())
def name(request):
    return request.param


def test_every_encoding_has_a_row():
    assert sorted(CASES) == encoding_names()


def test_a_reference_for_every_hook(name):
    encoding = encoding_class(name)
    wanted = {reference for hook, reference in REFERENCES.items() if encoding.overrides(hook)}
    if encoding.overrides("extend"):  # the other hooks make use of what that gave
        wanted -= {"score"}
    if encoding.counts_between:
        assert CASES[name].score_between and wanted == {"score"}
        return
    assert wanted == {field for field in REFERENCES.values() if getattr(CASES[name], field)}


@pytest.mark.parametrize("first_row", [0, 2])
@pytest.mark.parametrize("name", EMBEDDING)
@pytest.mark.parametrize("positions", [[0], [0, 1, 2, 3, 4], [7, 8, 9], [5, 2, 9, 3], [0, 40, 3]], ids=str)
def test_embed_equals_reference(name, positions, first_row):
    encoding = build(name, first_row=first_row)
    x = torch.randn(3, len(positions), HEADS * HEAD_DIM, dtype=torch.float64)
    expected = torch.stack([CASES[name].embed(encoding, row, positions) for row in x])
    for index in (torch.tensor([positions]), torch.tensor([positions] * 3)):
        torch.testing.assert_close(encoding.embed(x, index), expected, atol=CASES[name].tolerance, rtol=0)


@examples(40)
@given(
    name=st.sampled_from(EMBEDDING),
    first_row=st.integers(0, 5),
    positions=st.lists(st.integers(0, 63), min_size=1, max_size=9),
    width=st.integers(2, 9),
)
def test_embed_at_any_positions(name, first_row, positions, width):
    encoding = build(name, first_row=first_row, heads=1, head_dim=2 * width)
    x = torch.randn(1, len(positions), 2 * width, dtype=torch.float64)
    expected = CASES[name].embed(encoding, x[0], positions)
    torch.testing.assert_close(
        encoding.embed(x, torch.tensor([positions]))[0], expected, atol=CASES[name].tolerance, rtol=0
    )


@pytest.mark.parametrize("name", EMBEDDING)
def test_embed_with_ragged_padding_equals_reference(name):
    encoding = build(name)
    padding = torch.tensor([[1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 1]]).bool()
    positions = token_positions(padding)
    x = torch.randn(3, 6, HEADS * HEAD_DIM, dtype=torch.float64)
    y = encoding.embed(x, positions)
    assert y.isfinite().all()
    for row in range(3):
        tokens = ~padding[row]
        expected = CASES[name].embed(encoding, x[row, tokens], list(range(int(tokens.sum()))))
        torch.testing.assert_close(y[row, tokens], expected, atol=CASES[name].tolerance, rtol=0)


@pytest.mark.parametrize("causal", [True, False], ids=["decoder", "encoder"])
@pytest.mark.parametrize(("name", "options"), ATTENDING, ids=str)
def test_attention_hooks_equal_references(name, options, causal):
    """All queries at once, the last ones, and the last alone, in the middle of a text."""
    encoding = build(name, causal, options)
    x = torch.randn(2, HEADS, 9, HEAD_DIM, dtype=torch.float64)
    for queries in (9, 3, 1):
        assert_equals_reference(encoding, CASES[name], x, queries, first=20)


@examples(40)
@given(
    case=st.sampled_from(ATTENDING),
    causal=st.booleans(),
    heads=st.integers(1, 4),
    pairs=st.integers(1, 4),
    keys=st.integers(1, 8),
    data=st.data(),
)
def test_any_size(case, causal, heads, pairs, keys, data):
    """Attention hooks at other places, with other numbers of keys, queries, heads and dimensions."""
    name, options = case
    if {"scaling", "fraction"} & set(options):  # their numbers are for a head dimension
        pairs = HEAD_DIM // 2
    if options.get("encoder") == "split":  # one head of each kind
        heads += 1
    queries = data.draw(st.integers(1, keys), label="queries")
    # The reference of longrope is that of texts as long as in training.
    first = data.draw(st.integers(0, 30 if "long_factor" in options else 2000), label="first")
    encoding = build(name, causal, options, heads=heads, head_dim=2 * pairs)
    x = torch.randn(1, heads, keys, 2 * pairs, dtype=torch.float64)
    assert_equals_reference(encoding, CASES[name], x, queries, first)


def assert_equals_reference(encoding, case, x, queries, first):
    """The last ``queries`` of x (B, H, Tk, D), whose first column is ``first``."""
    batch, heads, keys, head_dim = x.shape
    kv_idx = range(first, first + keys)
    q_idx = kv_idx[-queries:]
    scores, outputs = attend(encoding, x, q_idx, kv_idx)
    weights = scores.softmax(-1)
    for row, i in enumerate(q_idx):
        for b in range(batch):
            expected = torch.zeros(heads, head_dim, dtype=torch.float64)
            for column, j in enumerate(kv_idx):
                if encoding.stack.causal and j > i:
                    continue
                q, k = x[b, :, i - first], x[b, :, column]
                score = case.score(encoding, q, k, i, j) if case.score else (q * k).sum(-1)
                if case.score_between:
                    between = x[b, :, column : i - first + 1].flip(1) if j <= i else x[b, :, i - first : column + 1]
                    score = case.score_between(encoding, q, between.transpose(0, 1), ahead=j > i)
                if case.bias:
                    score = score + torch.tensor(case.bias(encoding, i - j), dtype=torch.float64)
                if case.position_bias:
                    score = score + torch.tensor(case.position_bias(encoding, i, i - j), dtype=torch.float64)
                if case.content_bias:
                    read = x[b].transpose(0, 1).flatten(1)
                    added = torch.tensor(case.content_bias(encoding, read, i - first, column), dtype=torch.float64)
                    score = score + math.sqrt(head_dim) * added
                torch.testing.assert_close(scores[b, :, row, column], score, atol=1e-5, rtol=1e-5)
                value = case.values(encoding, k, column) if case.values else k
                value = case.mix(encoding, value, i, j) if case.mix else value
                expected = expected + weights[b, :, row, column, None] * value
            torch.testing.assert_close(outputs[b, :, row], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("causal", [True, False], ids=["decoder", "encoder"])
def test_gradients(name, causal):
    """gradcheck for what is given to the hooks, and a gradient for every parameter."""
    encoding = build(name, causal)
    positions = token_positions(torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0]]).bool())
    x = torch.randn(2, 4, HEADS * HEAD_DIM, dtype=torch.float64, requires_grad=True)

    def everything(x):
        embedded = encoding.embed(x, positions)[positions != PADDING]
        heads = x.view(2, 4, HEADS, HEAD_DIM).transpose(1, 2)
        return embedded, attend(encoding, heads, range(4), range(4))[1]

    # The bias is fp32, too coarse for differences of 1e-6, but it is no function of x.
    tolerance = {"atol": 1e-3, "eps": 1e-4} if encoding.overrides("rotate") else {}
    assert torch.autograd.gradcheck(everything, (x,), **tolerance)
    embedded, attended = everything(x)
    (embedded.pow(2).sum() + attended.pow(2).sum()).backward()
    for parameter_name, parameter in encoding.named_parameters():
        assert parameter.grad.abs().sum() > 0, parameter_name


@pytest.mark.parametrize("shift", [1, 10_000])
def test_translation(name, shift):
    """Attention over embedded, turned and biased tokens is unchanged by a shift exactly where that is claimed."""
    encoding = build(name)
    x = torch.randn(1, 6, HEADS * HEAD_DIM, dtype=torch.float64)

    def output(first):
        columns = range(first, first + 6)
        embedded = encoding.embed(x, torch.arange(first, first + 6).unsqueeze(0))
        heads = embedded.view(1, 6, HEADS, HEAD_DIM).transpose(1, 2)
        _, y = attend(encoding, heads, columns, columns)
        return y + encoding.values(heads, torch.arange(first, first + 6).unsqueeze(0))

    if encoding.max_positions is not None and shift + 6 > encoding.max_positions:
        with pytest.raises(InputError, match="exceeds"):
            output(shift)
        return
    change = (output(shift) - output(0)).abs().max().item()
    if encoding.translation_invariant:
        assert change < 1e-6
    else:
        assert change > 1e-3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_numbers_from_positions_survive_low_precision(name, dtype):
    """What positions alone decide (here: with all learned parameters equal) is the same after .half()."""
    encoding, low = build(name).float(), build(name).float()
    low.load_state_dict({key: value.to(dtype).float() for key, value in encoding.state_dict().items()})
    encoding.load_state_dict(low.state_dict())
    low = low.to(dtype)
    columns, longest = torch.arange(60), range(9000, 9060)
    zeros = torch.zeros(1, 60, HEADS * HEAD_DIM)
    if encoding.overrides("embed"):
        expected = encoding.embed(zeros, columns.unsqueeze(0)).to(dtype)
        assert torch.equal(low.embed(zeros.to(dtype), columns.unsqueeze(0)), expected)
    if encoding.overrides("bias"):
        assert torch.equal(low.bias(longest, longest, CPU), encoding.bias(longest, longest, CPU))
    if encoding.overrides("position_bias"):
        found, expected = (e.position_bias(torch.tensor([[*longest]]), longest, longest) for e in (low, encoding))
        assert torch.equal(found, expected)
    ones = torch.ones(1, HEADS, 60, HEAD_DIM)
    for hook in ("rotate", "decay"):
        expected = getattr(encoding, hook)(ones, ones, longest, longest)
        found = getattr(low, hook)(ones.to(dtype), ones.to(dtype), longest, longest)
        assert all(torch.equal(a, b.to(a.dtype)) for a, b in zip(found, expected))
