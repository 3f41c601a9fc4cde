"""Training: what slices leave out for the backward pass is computed once more, with the same gradients."""

import pytest
import torch

from fairseq_posenc.analysis.live_memory import LiveMemory
from fairseq_posenc.attention import computation, sliced
from fairseq_posenc.attention.computation import Sizes
from fairseq_posenc.attention.patterns import attention_pattern
from fairseq_posenc.attention.self_attention import CAUSAL, SelfAttention
from fairseq_posenc.encodings import Stack, encoding_class
from tests.support.attention import DIM, ENCODINGS, HEADS, padded
from tests.support.encodings import CASES

LENGTH = 256


def attention(name, causal=True, dropout=0.0, dtype=torch.float32):
    torch.manual_seed(1)
    module = SelfAttention(DIM, HEADS, dropout=dropout).train()
    if name is not None:
        options = dict(CASES[name].options)
        if "max_positions" in options:
            options["max_positions"] = LENGTH
        module.attach(encoding_class(name)(Stack(DIM, HEADS, causal=causal), **options).train())
        module.position_encoding.to(dtype)
    return module.to(dtype)


def text(length, dtype=torch.float32):
    return torch.randn(length, 2, DIM, generator=torch.Generator().manual_seed(2)).to(dtype).requires_grad_()


@pytest.mark.parametrize("left", [False, True], ids=["unpadded", "padded"])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "encoder"])
@pytest.mark.parametrize("name", [name for name in ENCODINGS if name != "posnet-attn"], ids=str)
def test_slices_keep_nothing_for_pairs_of_tokens(name, causal, dropout, left, monkeypatch):
    rows = 96 if name == "forgetting" else 32  # its queries and keys have more dimensions
    numbers = LENGTH * HEADS * (2 if left or name == "shaw" else 1)
    monkeypatch.setattr(computation, "CPU", Sizes(whole=LENGTH, slice=rows * numbers, keys=1))
    monkeypatch.setattr(sliced, "ROWS", rows // 4)
    module, x = attention(name, causal, dropout), text(LENGTH)
    padding = padded(LENGTH, (LENGTH, LENGTH - 9), True) if left else None
    mask = CAUSAL if causal else None
    # Queries, keys and values have 2 LENGTH DIM numbers, which is less.
    with LiveMemory(rows // 2 * HEADS * LENGTH) as large:
        out = module(x, x, x, padding, need_weights=False, attn_mask=mask)[0]
        assert not large.alive()
        out.sum().backward()
    assert x.grad.isfinite().all()


def gradients(module, x, padding, causal):
    torch.manual_seed(4)
    out = module(x, x, x, padding, need_weights=False, attn_mask=CAUSAL if causal else None)[0]
    if padding is not None:
        out = out.masked_fill(padding.transpose(0, 1).unsqueeze(-1), 0)
    encoding = module.position_encoding
    parameters = [*module.parameters(), *(encoding.parameters() if encoding is not None else ())]
    return torch.autograd.grad(out.sin().sum(), [x, *parameters], allow_unused=True)


#: Whether the stack is causal, the pattern, and whether the shorter sentence begins with padding.
STACKS = {
    "causal": (True, "full", False),
    "padded": (True, "full", True),
    "window": (True, "window:5", True),
    "encoder": (False, "full", False),
    "padded encoder": (False, "full", True),
}


@pytest.mark.parametrize("recomputed", [False, True], ids=["", "recomputed"])
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("name", ENCODINGS, ids=str)
def test_gradients_of_slices(name, stack, recomputed, monkeypatch):
    """Equal to those of everything at once, whose weights autograd keeps."""
    causal, pattern, left = STACKS[stack]
    module, x = attention(name, causal, dtype=torch.float64), text(13, torch.float64)
    if name == "adaptive-t5":
        module.position_encoding.eval()  # slices drop other distances
    module.use_pattern(attention_pattern(pattern))
    padding = padded(13, (13, 9), True) if left else None
    expected = gradients(module, x, padding, causal)
    module.recomputed = recomputed
    monkeypatch.setattr(computation, "CPU", Sizes(whole=50, slice=100, keys=200))
    monkeypatch.setattr(sliced, "ROWS", 4)
    for found, gradient in zip(gradients(module, x, padding, causal), expected):
        torch.testing.assert_close(found, gradient, atol=5e-6, rtol=5e-6)


@pytest.mark.parametrize("left", [False, True], ids=["unpadded", "padded"])
@pytest.mark.parametrize("dtype, error", [(torch.float64, 1e-5), (torch.float32, 1e-5), (torch.bfloat16, 0.1)])
@pytest.mark.parametrize("name", ["t5", "kerple-log", "kerple-power", "adaptive-t5"])
def test_gradients_of_learned_biases(name, dtype, error, left, monkeypatch):
    """Of slices, whose backward pass is our own, against autograd's."""
    module = attention(name, dtype=dtype)
    module.position_encoding.eval()
    x, padding = text(21, dtype), padded(21, (21, 15), True) if left else None
    expected = gradients(module, x, padding, True)
    monkeypatch.setattr(computation, "CPU", Sizes(whole=50, slice=700, keys=1))
    monkeypatch.setattr(sliced, "ROWS", 8)
    # Some gradients are nothing but rounding: a number added to all keys changes no weight.
    noise = 1e-3 * max(gradient.norm() for gradient in expected)
    for found, gradient in zip(gradients(module, x, padding, True), expected):
        assert (found - gradient).norm() <= error * (gradient.norm() + noise)


def test_slices_drop_the_same_again(monkeypatch):
    """Dropout of a slice that is computed twice: the gradient in the direction of x is that of the output."""
    monkeypatch.setattr(computation, "CPU", Sizes(whole=50, slice=100, keys=1))
    module, x = attention("shaw", dropout=0.3, dtype=torch.float64), text(23, torch.float64)

    def output(x):
        torch.manual_seed(4)
        return module(x, x, x, need_weights=False, attn_mask=CAUSAL)[0].sin().sum()

    direction = torch.randn(x.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    (gradient,) = torch.autograd.grad(output(x), x)
    with torch.no_grad():
        slope = (output(x + 1e-6 * direction) - output(x - 1e-6 * direction)) / 2e-6
    torch.testing.assert_close((gradient * direction).sum(), slope, rtol=1e-6, atol=0)
