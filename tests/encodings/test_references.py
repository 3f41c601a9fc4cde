"""Every hook of every encoding against its naive reference, forward and backward."""

import pytest
import torch

from fairseq_posenc.encodings import Stack, encoding_class, encoding_names
from fairseq_posenc.encodings.positions import PADDING, token_positions
from fairseq_posenc.errors import InputError
from tests.encodings.cases import CASES

HEADS, HEAD_DIM = 2, 4
HOOKS = ("embed", "bias", "rotate", "values")


def build(name, max_positions=64, first_row=2):
    torch.manual_seed(0)
    stack = Stack(HEADS * HEAD_DIM, HEADS, max_positions, causal=True, first_row=first_row)
    return encoding_class(name)(stack, **CASES[name].options).double().eval()


@pytest.fixture(params=encoding_names())
def name(request):
    return request.param


def test_every_encoding_has_a_row():
    assert sorted(CASES) == encoding_names()


def test_a_reference_for_every_hook(name):
    encoding = encoding_class(name)
    assert {hook for hook in HOOKS if encoding.overrides(hook)} == {h for h in HOOKS if getattr(CASES[name], h)}


@pytest.mark.parametrize("first_row", [0, 2])
@pytest.mark.parametrize("positions", [[0], [0, 1, 2, 3, 4], [7, 8, 9], [5, 2, 9, 3], [0, 40, 3]], ids=str)
def test_embed_equals_reference(name, positions, first_row):
    if not CASES[name].embed:
        pytest.skip("does not act on embeddings")
    encoding = build(name, first_row=first_row)
    x = torch.randn(3, len(positions), HEADS * HEAD_DIM, dtype=torch.float64)
    expected = torch.stack([CASES[name].embed(encoding, row, positions) for row in x])
    for given in (torch.tensor([positions]), torch.tensor([positions] * 3)):
        torch.testing.assert_close(encoding.embed(x, given), expected, atol=CASES[name].tolerance, rtol=0)


def test_embed_with_ragged_padding_equals_reference(name):
    if not CASES[name].embed:
        pytest.skip("does not act on embeddings")
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


def test_attention_hooks_equal_references(name):
    encoding, case = build(name), CASES[name]
    if not encoding.acts_on_attention():
        pytest.skip("does not act on attention")
    columns = torch.arange(7)
    q, k, v = (torch.randn(2, HEADS, 7, HEAD_DIM, dtype=torch.float64) for _ in range(3))
    if case.bias:
        bias = encoding.bias(columns[4:], columns)
        assert bias.dtype == torch.float32 and bias.shape == (HEADS, 3, 7)
        for i in (4, 5, 6):
            for j in range(i + 1):
                expected = case.bias(encoding, i, j)
                torch.testing.assert_close(bias[:, i - 4, j].double(), expected, atol=1e-5, rtol=1e-5)
    if case.rotate:
        turned_q, turned_k = encoding.rotate(q, k, columns, columns)
        for i in range(7):
            for j in range(i + 1):
                for b in range(2):
                    one_q, one_k = case.rotate(encoding, q[b, :, i], k[b, :, j], i, j)
                    ours = (turned_q[b, :, i] * turned_k[b, :, j]).sum(-1)
                    torch.testing.assert_close(ours, (one_q * one_k).sum(-1), atol=1e-5, rtol=1e-5)
    if case.values:
        out = encoding.values(v, columns.unsqueeze(0))
        for b in range(2):
            for j in range(7):
                torch.testing.assert_close(out[b, :, j], case.values(encoding, v[b, :, j], j))


def test_gradients(name):
    """gradcheck, and a gradient for every parameter, for embeddings padded on the left."""
    encoding = build(name)
    positions = token_positions(torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0]]).bool())
    x = torch.randn(2, 4, HEADS * HEAD_DIM, dtype=torch.float64, requires_grad=True)
    if encoding.overrides("embed"):
        assert torch.autograd.gradcheck(lambda x: encoding.embed(x, positions)[positions != PADDING], (x,))
    for parameter_name, parameter in encoding.named_parameters():
        parameter.grad = None
        total = encoding.embed(x, positions)[positions != PADDING].pow(2).sum()
        if encoding.acts_on_attention():
            columns = torch.arange(4)
            heads = x.view(2, 4, HEADS, HEAD_DIM).transpose(1, 2)
            q, k = encoding.rotate(heads, heads, columns, columns)
            scores = q @ k.transpose(-2, -1)
            bias = encoding.bias(columns, columns)
            total = total + (scores if bias is None else scores + bias).exp().sum()
            total = total + encoding.values(heads, columns.unsqueeze(0)).pow(2).sum()
        total.backward()
        assert parameter.grad.abs().sum() > 0, parameter_name


@pytest.mark.parametrize("shift", [1, 10_000])
def test_translation(name, shift):
    """Attention over embedded, turned and biased tokens is unchanged by a shift exactly where that is claimed."""
    encoding = build(name)
    x = torch.randn(1, 6, HEADS * HEAD_DIM, dtype=torch.float64)

    def attend(first):
        columns = torch.arange(first, first + 6)
        heads = encoding.embed(x, columns.unsqueeze(0)).view(1, 6, HEADS, HEAD_DIM).transpose(1, 2)
        q, k = encoding.rotate(heads, heads, columns, columns)
        scores = q @ k.transpose(-2, -1)
        bias = encoding.bias(columns, columns)
        scores = scores if bias is None else scores + bias
        scores = scores.masked_fill(columns > columns.unsqueeze(1), float("-inf"))
        return scores.softmax(-1) @ encoding.values(heads, columns.unsqueeze(0))

    if encoding.max_positions is not None and shift + 6 > encoding.max_positions:
        with pytest.raises(InputError, match="exceeds"):
            attend(shift)
        return
    change = (attend(shift) - attend(0)).abs().max().item()
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
    columns = torch.arange(60)
    zeros = torch.zeros(1, 60, HEADS * HEAD_DIM)
    if encoding.overrides("embed"):
        expected = encoding.embed(zeros, columns.unsqueeze(0)).to(dtype)
        assert torch.equal(low.embed(zeros.to(dtype), columns.unsqueeze(0)), expected)
    if encoding.overrides("bias"):
        assert torch.equal(low.bias(columns, columns), encoding.bias(columns, columns))
