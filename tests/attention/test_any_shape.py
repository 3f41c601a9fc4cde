"""Any pattern at any shape: one pass, in slices and in blocks, and chunk by chunk, against the whole masked matrix."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairseq_posenc.attention import computation, patterns, sliced
from fairseq_posenc.attention.computation import Sizes
from fairseq_posenc.attention.patterns import attention_pattern
from fairseq_posenc.attention.self_attention import CAUSAL
from tests.support.attention import ENCODINGS, dense, in_chunks, padded, random_text, self_attention
from tests.support.encodings import undefined
from tests.support.fuzzing import examples

widths = st.integers(1, 12)
PATTERNS = st.one_of(
    st.just("full"),
    widths.map("window:{}".format),
    widths.map(lambda half: f"blockwise:{2 * half}"),
    st.tuples(st.integers(1, 5), widths).map(lambda numbers: "sinks:{},window:{}".format(*numbers)),
)


@st.composite
def texts(draw):
    """Lengths of one to three sentences, the longest first, and on which side they are padded."""
    longest = draw(st.integers(1, 20))
    lengths = draw(st.lists(st.integers(1, longest), max_size=2))
    return [longest, *lengths], draw(st.booleans())


@st.composite
def cuts(draw, length):
    """Sizes of chunks that make up a text of this length."""
    sizes = []
    while sum(sizes) < length:
        sizes.append(draw(st.integers(1, length - sum(sizes))))
    return sizes


@examples(30)
@given(
    name=st.sampled_from(ENCODINGS),
    pattern=PATTERNS,
    text=texts(),
    sizes=st.builds(Sizes, whole=st.integers(1, 400), slice=st.integers(1, 200), keys=st.integers(1, 2000)),
    data=st.data(),
)
def test_any_shape(name, pattern, text, sizes, data):
    pattern = "full" if undefined(name, pattern) else pattern
    lengths, left = text
    padding = padded(lengths[0], lengths, left)
    module, x = self_attention(name), random_text(lengths[0], batch=len(lengths))
    expected, tokens = dense(module, x, pattern, padding), ~padding.transpose(0, 1)
    module.use_pattern(attention_pattern(pattern))
    given = padding if padding.any() or data.draw(st.booleans(), label="a mask without padding") else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns, "NARROWEST_BLOCK", data.draw(st.sampled_from([1, 3, 64]), label="narrowest block"))
        whole = module(x, x, x, given, need_weights=False, attn_mask=CAUSAL)[0]
        patch.setattr(computation, "CPU", sizes)
        patch.setattr(sliced, "ROWS", data.draw(st.integers(1, 20), label="queries that share a mask"))
        in_slices = module(x, x, x, given, need_weights=False, attn_mask=CAUSAL)[0]
        steps, _ = in_chunks(module, x, padding, data.draw(cuts(lengths[0]), label="chunks"))
    for found in (whole, in_slices, steps):
        torch.testing.assert_close(found[tokens], expected[tokens], atol=1e-6, rtol=0)
        assert found.isfinite().all()


@pytest.mark.parametrize(
    ("name", "pattern", "chunks"),
    [("adaptive-t5", "blockwise:8", [1, 7, 4, 5]), ("forgetting", "sinks:1,window:1", [2, 1])],
)
def test_chunks_with_fewer_visible_keys_than_the_cache_has(monkeypatch, name, pattern, chunks):
    """The cache holds keys that no query of a later chunk sees; and one key that is needed, though none sees it."""
    monkeypatch.setattr(patterns, "NARROWEST_BLOCK", 1)
    monkeypatch.setattr(computation, "CPU", Sizes(whole=1, slice=1, keys=1))
    monkeypatch.setattr(sliced, "ROWS", 1)
    module, x = self_attention(name), random_text(sum(chunks), batch=1)
    module.use_pattern(attention_pattern(pattern))
    padding = padded(sum(chunks), [sum(chunks)], left=False)
    steps, _ = in_chunks(module, x, padding, chunks)
    torch.testing.assert_close(steps, dense(module, x, pattern, padding), atol=1e-6, rtol=0)
