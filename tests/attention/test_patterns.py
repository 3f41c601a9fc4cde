"""Attention patterns: one pass, step by step, in slices and in blocks, against the whole masked matrix."""

import copy

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_posenc.attention import computation, patterns
from fairseq_posenc.attention.computation import Sizes
from fairseq_posenc.attention.patterns import FULL, Blockwise, Sinks, Window, attention_pattern, pattern_list
from fairseq_posenc.attention.self_attention import CAUSAL, SelfAttention
from fairseq_posenc.encodings import Stack, encoding_class
from fairseq_posenc.errors import InputError
from tests.support.attention import (
    DIM,
    ENCODINGS,
    HEADS,
    combined,
    dense,
    in_chunks,
    padded,
    random_text,
    sees,
    self_attention,
)

#: Hooks compute in fp32 what follows from positions, and round it differently for queries and keys of another number.
ATOL = 1e-7

FOUR = ["full", "window:5", "blockwise:8", "sinks:2,window:4"]
PATTERNS = ["window:1", "window:5", "blockwise:2", "blockwise:8", "sinks:2,window:4"]


@pytest.fixture
def narrow_blocks(monkeypatch):
    """Windows are computed in blocks as small as they can be, so that short texts have many of them."""
    monkeypatch.setattr(patterns, "NARROWEST_BLOCK", 1)


def one_pass(module, x, pattern, padding=None):
    module.use_pattern(attention_pattern(pattern))
    return module(x, x, x, padding, need_weights=False, attn_mask=CAUSAL)[0]


def test_names():
    named = {"full": FULL, "window:7": Window(7), "blockwise:512": Blockwise(512), "sinks:4,window:512": Sinks(4, 512)}
    for text, pattern in named.items():
        assert attention_pattern(text) == pattern
        assert attention_pattern(pattern) == pattern
        assert str(pattern) == text
    assert pattern_list(",".join(named)) == list(named)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sliding:7", "must be one of full, window:W, .*, with whole numbers of up to 9 digits, but is sliding:7"),
        ("windw:5", r"is windw:5 \(did you mean window\?\)"),
        ("window", "must be one of full, window:W, blockwise:L"),
        ("sinks:4", "must be one of full, "),
        ("sinks:0,window:5", "at least one sink.*give sinks:1,window:5"),
        ("sinks:4,window:0", "give sinks:4,window:1"),
        ("full:3", "must be one of full, "),
        ("window:x", "must be one of full, "),
        ("window:1.5", "must be one of full, "),
        ("window:" + 5000 * "9", "must be one of full, "),
        ("window:5\n", r"but is window:5\\n$"),
        ("window:0", "window:0: a window holds at least the query itself; give window:1"),
        ("window:-3", "window:-3: a window"),
        ("blockwise:7", "even and at least 2; give blockwise:8"),
        ("blockwise:0", "give blockwise:2"),
    ],
)
def test_bad_names_are_refused(text, told):
    with pytest.raises(InputError, match=told) as caught:
        attention_pattern(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("pattern", ["full", *PATTERNS])
def test_what_patterns_say_of_themselves(pattern):
    """first_visible, count, left_context and block against the definition, for ints and for tensors."""
    made, length = attention_pattern(pattern), 30
    for i in range(length):
        seen = [j for j in range(length) if sees(pattern, i, j)]
        assert seen[: made.sinks] == list(range(min(i + 1, made.sinks)))
        near = [j for j in seen if j >= min(i, made.sinks)]
        assert made.first_visible(i) <= near[0]
        assert made.hides_any(range(i, i + 1), range(i + 1)) == (len(seen) <= i)
        assert made.visible(torch.tensor(i), torch.arange(length)).nonzero().flatten().tolist() == seen
        assert made.left_context is None or i - near[0] <= made.left_context
        assert made.block is None or near[0] // made.block >= i // made.block - 1
    columns = torch.arange(length)
    assert made.first_visible(columns).tolist() == [made.first_visible(i) for i in range(length)]
    assert made.count(columns).tolist() == [sum(sees(pattern, i, j) for j in range(length)) for i in range(length)]


@pytest.mark.parametrize(("name", "pattern"), combined(PATTERNS), ids=str)
def test_one_pass_equals_dense(name, pattern, narrow_blocks):
    """At and around every boundary of blocks, and with a last block that is not full."""
    module = self_attention(name)
    for length in (1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 23):
        x = random_text(length)
        out = one_pass(module, x, pattern)
        torch.testing.assert_close(out, dense(module, x, pattern), atol=ATOL, rtol=0, msg=f"length {length}")


@pytest.mark.parametrize("length", [5, 64, 65, 150])
def test_wide_blocks_of_a_narrow_window(length):
    x = random_text(length)
    for name in (None, "t5", "shaw"):
        module = self_attention(name)
        torch.testing.assert_close(
            one_pass(module, x, "window:5"), dense(module, x, "window:5"), atol=ATOL, rtol=0, msg=str(name)
        )


@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
@pytest.mark.parametrize(("name", "pattern"), combined(PATTERNS), ids=str)
def test_padding(name, pattern, left, narrow_blocks):
    """Patterns go by the place of a token in its sentence, wherever that starts; nothing is NaN, not even padding."""
    module, x, padding = self_attention(name), random_text(14, batch=4), padded(14, (14, 9, 3, 1), left)
    out = one_pass(module, x, pattern, padding)
    expected = dense(module, x, pattern, padding)
    tokens = ~padding.transpose(0, 1)
    torch.testing.assert_close(out[tokens], expected[tokens], atol=ATOL, rtol=0)
    assert out.isfinite().all()
    for row, length in enumerate((14, 9, 3, 1)):
        alone = x[~padding[row], row : row + 1]
        torch.testing.assert_close(one_pass(module, alone, pattern)[:, 0], out[~padding[row], row], atol=ATOL, rtol=0)
        assert alone.size(0) == length


@pytest.mark.parametrize(("name", "pattern"), combined(FOUR), ids=str)
def test_gradients_equal_dense(name, pattern, narrow_blocks):
    module, x = self_attention(name), random_text(13).requires_grad_()
    parameters = [x, *module.parameters()]
    if name is not None:
        parameters += module.position_encoding.parameters()
    gradients = [
        torch.autograd.grad(out.pow(2).sum(), parameters, allow_unused=True)
        for out in (one_pass(module, x, pattern), dense(module, x, pattern))
    ]
    for mine, expected in zip(*gradients):
        torch.testing.assert_close(mine, expected, atol=1e-6, rtol=1e-4)


CHUNKS = {
    "steps": [1] * 21,
    "a prefix longer than a block": [11] + [1] * 10,
    "several tokens after a prefix": [2, 3, 9, 7],
    "one chunk": [21],
}


@pytest.mark.parametrize("sizes", CHUNKS.values(), ids=CHUNKS.keys())
@pytest.mark.parametrize(("name", "pattern"), combined(["full", *PATTERNS]), ids=str)
def test_step_by_step_equals_one_pass(name, pattern, sizes, narrow_blocks):
    """With padding on either side and without; the cache holds no more than the pattern needs."""
    module, x = self_attention(name), random_text(21, batch=3)
    for padding in (padded(21, (21, 13, 6), True), padded(21, (21, 13, 6), False), padded(21, (21, 21, 21), True)):
        whole = one_pass(module, x, pattern, padding if padding.any() else None)
        out, cache = in_chunks(module, x, padding, sizes)
        tokens = ~padding.transpose(0, 1)
        torch.testing.assert_close(out[tokens], whole[tokens], atol=ATOL, rtol=0)
        assert out.isfinite().all()
        left_context = module.pattern.left_context
        # Where sinks may be in other columns for each sentence, all keys stay.
        assert padding.any() or cache["sinks"] == module.pattern.sinks
        everything = left_context is None or cache["sinks"] != module.pattern.sinks
        kept = 21 if everything else min(21, left_context)
        assert cache["prev_key"].size(2) == cache["prev_value"].size(2) == kept


@pytest.mark.parametrize("pattern", ["window:5", "blockwise:8", "sinks:2,window:4"])
@pytest.mark.parametrize("left", [0, 2])
def test_rolled_cache_follows_reordered_beams(pattern, left, narrow_blocks):
    """After 13 tokens, more than the cache keeps; the sentences differ in their padding."""
    for name in (None, "xpos", "posnet-attn", "t5"):
        module, x, order = self_attention(name), random_text(20, batch=3), torch.tensor([2, 0, 0])
        module.use_pattern(attention_pattern(pattern))
        padding = padded(20, (20, 20 - left, 20 - 2 * left), True)
        state = {}
        module(x[:13], None, None, padding[:, :13] if left else None, state, need_weights=False)
        module.reorder_incremental_state(state, order)
        out = module(x[13:], None, None, None, state, need_weights=False)[0]
        continued = torch.cat([x[:13, order], x[13:]])
        whole = one_pass(module, continued, pattern, padding[order] if left else None)
        torch.testing.assert_close(out, whole[13:], atol=ATOL, rtol=0)


def test_reordering_an_empty_cache():
    module = self_attention(None)
    assert module.reorder_incremental_state({}, torch.tensor([0])) == {}


@pytest.mark.parametrize("name", ENCODINGS, ids=str)
def test_cache_size_equals_a_window(name):
    """Chi et al. 2023, Appendix B: one pass sees everything, steps see the newest 6 tokens."""
    module, x, padding = self_attention(name), random_text(21), padded(21, (21, 21), True)
    windowed = one_pass(module, x, "window:6")
    module.use_pattern(FULL, cache_size=6)
    out, cache = in_chunks(module, x, padding, [9, 3] + [1] * 9)
    torch.testing.assert_close(out, windowed, atol=ATOL, rtol=0)
    assert cache["prev_key"].size(2) == 5
    whole = module(x, x, x, need_weights=False, attn_mask=CAUSAL)[0]
    torch.testing.assert_close(whole, dense(module, x, "full"), atol=ATOL, rtol=0)


@pytest.mark.parametrize("left", [True, None], ids=["padded", "unpadded"])
@pytest.mark.parametrize(("name", "pattern"), combined(FOUR), ids=str)
def test_slices_equal_dense(name, pattern, left, monkeypatch, narrow_blocks):
    """Whatever is too large to be taken whole, with slices of one to three queries; also groups of blocks."""
    module, x = self_attention(name), random_text(17)
    padding = padded(17, (17, 12), True) if left else None
    tokens = torch.ones(17, 2, dtype=torch.bool) if padding is None else ~padding.transpose(0, 1)
    expected = dense(module, x, pattern, padding)
    for size in (1, 40, 120):
        monkeypatch.setattr(computation, "CPU", Sizes(whole=50, slice=size, keys=20 * size))
        out = one_pass(module, x, pattern, padding)
        torch.testing.assert_close(out[tokens], expected[tokens], atol=ATOL, rtol=0)


@pytest.mark.parametrize("padding", [None, padded(17, (17, 12), False)], ids=["unpadded", "padded"])
def test_slices_of_an_encoder(monkeypatch, padding):
    module, x = self_attention("kerple-log"), random_text(17)
    whole = module(x, x, x, padding, need_weights=False)[0]
    monkeypatch.setattr(computation, "CPU", Sizes(whole=50, slice=120, keys=2400))
    torch.testing.assert_close(module(x, x, x, padding, need_weights=False)[0], whole, atol=1e-12, rtol=0)


@pytest.mark.parametrize("pattern", ["window:5", "blockwise:8", "sinks:2,window:4"])
def test_weights_are_those_of_the_pattern(pattern):
    module, x = self_attention("alibi"), random_text(13)
    module.use_pattern(attention_pattern(pattern))
    out, weights = module(x, x, x, need_head_weights=True, attn_mask=CAUSAL)
    torch.testing.assert_close(out, dense(module, x, pattern), atol=ATOL, rtol=0)
    for i in range(13):
        for j in range(13):
            assert weights[:, :, i, j].gt(0).all() if sees(pattern, i, j) else weights[:, :, i, j].eq(0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("name", "pattern"), combined(["window:5", "blockwise:8"]), ids=str)
def test_low_precision(name, pattern, dtype, narrow_blocks):
    """The error against float64 is at most twice that of the plain formula in the same precision."""
    exact, low = self_attention(name), self_attention(name, dtype)
    exact.load_state_dict({key: value.double() for key, value in low.state_dict().items()})
    if name is not None:
        state = low.position_encoding.state_dict()
        exact.position_encoding.load_state_dict({key: value.double() for key, value in state.items()})
    x = random_text(40, batch=4).to(dtype)
    with torch.no_grad():
        expected = dense(exact, x.double(), pattern)
        errors = [out.double() - expected for out in (one_pass(low, x, pattern), dense(low, x, pattern))]
    assert one_pass(low, x, pattern).dtype == dtype
    mine, plain = (error.pow(2).mean().sqrt() for error in errors)
    assert mine <= 2 * plain


@pytest.mark.parametrize("padding", [None, padded(64, (64, 50), True)], ids=["unpadded", "padded"])
@pytest.mark.parametrize("need_weights", [False, True])
def test_decay_beyond_the_range_of_fp16(padding, need_weights):
    """At the ends of this text the factors of xPos, e^20 and e^-20, are no numbers of fp16."""
    low = SelfAttention(DIM, HEADS).half().eval()
    low.attach(encoding_class("xpos")(Stack(DIM, HEADS, causal=True), scale_base=2.0).half())
    exact = copy.deepcopy(low).double()
    x = random_text(64).half()
    tokens = slice(None) if padding is None else ~padding.transpose(0, 1)
    with torch.no_grad():
        expected = dense(exact, x.double(), "full", padding)
        out = low(x, x, x, padding, need_weights=need_weights, attn_mask=CAUSAL)[0]
    assert out.dtype == torch.float16
    torch.testing.assert_close(out[tokens].double(), expected[tokens], rtol=0, atol=2e-3)


class Numbers(TorchDispatchMode):
    """Counts the numbers that operations write: in all, and in the largest tensor."""

    total = largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (tuple, list)) else (out,):
            if torch.is_tensor(tensor):
                # A view has the memory of its base.
                size = tensor.untyped_storage().nbytes() // tensor.element_size()
                self.largest = max(self.largest, size)
                self.total += tensor.numel()
        return out


def numbers(name, pattern, length):
    module, x = self_attention(name, torch.float32), random_text(length, batch=1).float()
    with torch.no_grad(), Numbers() as counted:
        one_pass(module, x, pattern)
    return counted


@pytest.mark.parametrize(("name", "pattern"), combined(["window:33", "blockwise:64", "sinks:4,window:33"]), ids=str)
def test_patterns_are_linear_in_the_length(name, pattern):
    """Four times the length: about four times the numbers, and no tensor of queries x keys."""
    if name == "posnet-attn":
        pytest.skip("has a limit, and its kernels a number a position")
    short, long = (numbers(name, pattern, length) for length in (512, 2048))
    assert long.total < 4.5 * short.total
    assert long.largest < 2048 * 512


@pytest.mark.parametrize("name", [name for name in ENCODINGS if name != "posnet-attn"], ids=str)
def test_full_attention_never_holds_queries_times_keys(name, monkeypatch):
    monkeypatch.setattr(computation, "CPU", Sizes(whole=2**17, slice=2**15, keys=computation.CPU.keys))
    assert numbers(name, "full", 1024).largest < 2**18 < 1024 * 1024
