"""What fused kernels are given: masks that the fast ones take, and numbers that autocast leaves alone."""

import pytest
import torch
from torch.nn import functional as F

from fairseq_posenc.attention import computation, sliced
from fairseq_posenc.attention.computation import AttentionCall, Sizes
from fairseq_posenc.attention.keys import Keys
from fairseq_posenc.attention.patterns import FULL, attention_pattern
from fairseq_posenc.attention.self_attention import CAUSAL, SelfAttention, one_pass
from fairseq_posenc.attention.sliced import slices
from fairseq_posenc.encodings import Stack, encoding_class, encoding_names
from fairseq_posenc.encodings.positions import Positions
from tests.support.attention import DIM, HEADS, padded, random_text
from tests.support.encodings import CASES

BIASES = [name for name in encoding_names() if encoding_class(name).overrides("bias")]
#: Those whose bias fused kernels add, and one whose bias is no function of the distance alone.
FUSED = [*(name for name in BIASES if not encoding_class(name).overrides("scores")), "fire"]
HALF = [torch.float16, torch.bfloat16]


def attention(name, causal, **options):
    torch.manual_seed(1)
    module = SelfAttention(DIM, HEADS).eval()
    encoding = encoding_class(name)
    module.attach(encoding(Stack(DIM, HEADS, causal=causal), **{**CASES[name].options, **options}).eval())
    return module


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", BIASES)
def test_biases_are_dense(name, causal):
    """Otherwise PyTorch computes attention with its plain kernel."""
    encoding = attention(name, causal).position_encoding
    for queries, keys in (
        (range(9), range(9)),
        (range(4, 9), range(9)),
        (range(9), range(16)),
        (range(8, 9), range(9)),
    ):
        bias = encoding.bias(queries, keys, torch.device("cpu"))
        assert bias.is_contiguous() and bias.dtype == torch.float32


@pytest.mark.parametrize("padding", [None, padded(9, (9, 5), True)], ids=["unpadded", "padded"])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", FUSED)
def test_masks_have_four_dense_dimensions(name, causal, padding, monkeypatch):
    given, kernel = [], F.scaled_dot_product_attention

    def recorded(*args, **options):
        given.append(options["attn_mask"])
        return kernel(*args, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", recorded)
    x = random_text(9, batch=2).float()
    with torch.no_grad():
        attention(name, causal)(x, x, x, padding, need_weights=False, attn_mask=CAUSAL if causal else None)
    (mask,) = given
    assert mask.dim() == 4 and mask.stride(-1) == 1 and mask.shape[1:] == (HEADS, 9, 9)
    # Otherwise the memory-efficient kernel copies the mask at every call.
    assert all(stride % 8 == 0 for stride in mask.stride()[:-1])


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", BIASES)
def test_biases_are_fp32_under_autocast(name, dtype):
    encoding = attention(name, causal=False).position_encoding
    columns, cpu = range(40), torch.device("cpu")
    bias = encoding.bias(columns, columns, cpu)
    with torch.autocast("cpu", dtype=dtype):
        assert torch.equal(encoding.bias(columns, columns, cpu), bias)


def test_gradients_of_adaptive_t5_under_autocast():
    encoding = attention("adaptive-t5", causal=True).position_encoding
    gradients = []
    for enabled in (False, True):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            bias = encoding.bias(range(40), range(40), torch.device("cpu"))
        gradients.append(torch.autograd.grad(bias.sin().sum(), list(encoding.parameters())))
    for exact, cast in zip(*gradients):
        assert torch.equal(exact, cast)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("causal", [True, False])
def test_xpos_beyond_the_range_of_fp16_under_autocast(causal, need_weights):
    """At the ends of this text its factors, e^20 and e^-20, are no numbers of fp16."""
    module, x = attention("xpos", causal, scale_base=2.0), random_text(64).float()
    mask = CAUSAL if causal else None
    with torch.no_grad():
        expected = module(x, x, x, need_weights=need_weights, attn_mask=mask)[0]
        with torch.autocast("cpu", dtype=torch.float16):
            out = module(x, x, x, need_weights=need_weights, attn_mask=mask)[0]
    assert out.dtype == torch.float16
    torch.testing.assert_close(out.float(), expected, rtol=0, atol=3e-3)


def calls_of_the_kernel(monkeypatch):
    """A list that grows by the mask of every call of PyTorch's kernel."""
    calls, kernel = [], F.scaled_dot_product_attention

    def counted(*args, attn_mask=None, **options):
        calls.append(attn_mask)
        return kernel(*args, attn_mask=attn_mask, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", counted)
    return calls


def test_pieces_are_as_large_as_the_device_likes(monkeypatch):
    """A GPU would wait for each of many small pieces."""
    for device, sizes in (("cpu", computation.CPU), ("cuda", computation.GPU)):
        call = AttentionCall(None, FULL, Keys(range(4)), None, 0.0, torch.device(device), None)
        assert call.sizes is sizes
    calls = calls_of_the_kernel(monkeypatch)
    encoding = attention("alibi", causal=False).position_encoding
    idx, x = range(4096), torch.randn(1, HEADS, 4096, DIM // HEADS)
    half = Sizes(whole=1, slice=HEADS * 4096 * 2048, keys=1)
    for sizes, least, most in ((computation.CPU, 8, 32), (half, 2, 2), (computation.GPU, 1, 1)):
        call = AttentionCall(encoding, None, Keys(idx), None, 0.0, x.device, None)
        call.sizes = sizes
        calls.clear()
        call(x, x, x, idx)
        assert least <= len(calls) <= most


def test_the_largest_slices_come_first(monkeypatch):
    """Their memory has room for all others; growing slices would each need new memory."""
    assert [keys for _, keys in slices(64, 64, 16)] == [64, 48, 32, 16]
    monkeypatch.setattr(computation, "CPU", Sizes(whole=1, slice=HEADS * 64 * 16, keys=1))
    monkeypatch.setattr(sliced, "ROWS", 64)  # not those that share a mask
    masks = calls_of_the_kernel(monkeypatch)
    module, x = attention("alibi", causal=True), random_text(64).float()
    with torch.no_grad():
        module(x, x, x, need_weights=False, attn_mask=CAUSAL)
    assert [mask.size(-1) for mask in masks] == [64, 48, 32, 16]


@pytest.mark.parametrize("pattern", ["window:5", "blockwise:8", "full"])
@pytest.mark.parametrize("name", ["none", "alibi", "t5"])
def test_layers_share_masks(name, pattern, monkeypatch):
    masks = calls_of_the_kernel(monkeypatch)
    layers = [attention(name, causal=True) for _ in range(3)]
    x = random_text(200, batch=1).float()
    with torch.no_grad(), one_pass(layers, Positions.consecutive(0, 200, x.device)):
        for layer in layers:
            layer.attach(layers[0].position_encoding)
            layer.use_pattern(attention_pattern(pattern))
            layer(x, x, x, need_weights=False, attn_mask=CAUSAL)
    calls = len(masks) // 3
    assert calls > 0 and len(masks) == 3 * calls
    for index, mask in enumerate(masks):
        assert mask is masks[index % calls]


@pytest.mark.parametrize("name", encoding_names())
def test_nothing_that_other_libraries_would_round(name):
    """Sharded data parallelism casts all buffers."""
    encoding = attention(name, causal=True).position_encoding
    assert not [buffer for buffer in encoding.buffers() if buffer.is_floating_point()]
