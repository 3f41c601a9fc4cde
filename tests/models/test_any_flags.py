"""Whatever is written after the flags of an encoding: one line, or an encoding that computes."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairseq_posenc.attention.patterns import PATTERNS, attention_pattern
from fairseq_posenc.attention.scales import CHOICES as SCALES
from fairseq_posenc.encodings import Stack, encoding_class, encoding_names, limits
from fairseq_posenc.encodings.distances import CHOICES as DISTANCES
from fairseq_posenc.encodings.numbering import CHOICES as NUMBERINGS
from fairseq_posenc.encodings.positions import Positions
from tests.support.fuzzing import examples, is_refused, near

CPU = torch.device("cpu")
#: Flag -> its parser, and what it takes.
PARSERS = {
    "--attention-pattern": (attention_pattern, [kind.form for kind in PATTERNS.values()]),
    "--position-encoding": (encoding_class, encoding_names()),
    **{
        c.flag: (c.parse, [*c.names, *(kind.form for kind in c.classes.values())])
        for c in (NUMBERINGS, DISTANCES, SCALES)
    },
}


@pytest.fixture(autouse=True, scope="module")
def little_memory():
    """Tables are small, or refused."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "memory", lambda: 2**24)
        yield


@pytest.mark.parametrize("flag", PARSERS)
@examples(100)
@given(data=st.data())
def test_names(flag, data):
    """What is taken can be said again."""
    parse, forms = PARSERS[flag]
    text = data.draw(near(*forms))
    if not is_refused(parse, text):
        made = parse(text)
        assert parse(getattr(made, "name", "plain" if made is None else str(made))) == made


def values(option):
    """Values of an option, of its type and of others: a command line checks types, ``--model-overrides`` does not."""
    lists = st.lists(st.floats(), max_size=3).map(lambda numbers: ",".join(map(str, numbers)))
    anything = st.one_of(st.none(), st.booleans(), st.text(max_size=5), st.integers(), st.floats(), lists)
    by_type = {
        int: st.one_of(st.integers(-3, 40), st.integers()),
        float: st.one_of(st.floats(-2, 40), st.floats()),
        str: st.sampled_from(option.choices) if option.choices else lists,
    }
    return st.one_of(by_type[option.type], by_type[option.type], by_type[option.type], anything)


@pytest.mark.parametrize("name", [n for n in encoding_names() if encoding_class(n).constructor_options()])
@examples(40)
@given(data=st.data())
def test_options(name, data):
    given = {
        argument: data.draw(values(option), label=argument)
        for argument, option in encoding_class(name).constructor_options().items()
        if data.draw(st.booleans())
    }
    heads, head_dim = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    stack = Stack(heads * head_dim, heads, max_positions=16, causal=data.draw(st.booleans()), first_row=2)
    if not is_refused(encoding_class(name), stack, **given):
        encoding = encoding_class(name)(stack, **given).eval()
        assert is_refused(computes, encoding) or computes(encoding)


def computes(encoding, length=6):
    """Whether everything that the hooks give for a text is finite."""
    stack, idx, positions = encoding.stack, range(length), Positions.consecutive(0, length, CPU)
    x = torch.ones(1, length, stack.model_dim)
    embedded = encoding.embed(x, positions)
    heads = torch.ones(1, stack.heads, length, stack.head_dim)
    q, k = encoding.rotate(heads, heads, idx, idx)
    q, k = encoding.extend(q, k, x, None)
    q, k = encoding.decay(q, k, idx, idx)
    scores = encoding.scores(q / math.sqrt(stack.head_dim), k, idx, idx)
    for bias in (encoding.bias(idx, idx, CPU), encoding.position_bias(positions.index, idx, idx)):
        scores = scores if bias is None else scores + bias
    seen = torch.ones(length, length, dtype=torch.bool)
    scores = scores.masked_fill(~(seen.tril() if stack.causal else seen), -math.inf)
    mixed = encoding.mix(scores.softmax(-1), encoding.values(heads, positions), idx, idx)
    return bool(embedded.isfinite().all() and mixed.isfinite().all())
