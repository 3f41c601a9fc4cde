"""Cross-attention: that of stock fairseq, and hypotheses that share the keys of their sentence."""

import pytest
import torch
from fairseq.modules import MultiheadAttention

from fairseq_posenc.attention.cross_attention import CrossAttention
from tests.support.attention import DIM, HEADS, padded, random_text

SOURCE_DIM = 6
LENGTHS = (7, 4, 6)


def modules(**options):
    """Ours and stock's, with the same weights."""
    torch.manual_seed(1)
    options = {"kdim": SOURCE_DIM, "vdim": SOURCE_DIM, **options}
    ours = CrossAttention(DIM, HEADS, **options).eval()
    stock = MultiheadAttention(DIM, HEADS, encoder_decoder_attention=True, **options).eval()
    stock.load_state_dict(ours.state_dict(), strict=True)
    return ours, stock


def source():
    """(S, B, kdim), and its padding (B, S) on the left."""
    generator = torch.Generator().manual_seed(2)
    return torch.randn(7, 3, SOURCE_DIM, generator=generator), padded(7, LENGTHS, left=True)


def target(length, batch=3):
    """(T, B, C)."""
    return random_text(length, batch).float()


def repeated(x, count, dim):
    return x.repeat_interleave(count, dim=dim)


@pytest.mark.parametrize("weights", [{}, {"need_weights": False}, {"need_head_weights": True}], ids=str)
@pytest.mark.parametrize("has_padding", [True, False])
def test_equals_stock(has_padding, weights):
    (ours, stock), (key, padding), query = modules(), source(), target(5)
    padding = padding if has_padding else None
    (x, found), (y, expected) = (m(query, key, key, padding, static_kv=True, **weights) for m in (ours, stock))
    torch.testing.assert_close(x, y)
    torch.testing.assert_close(found, expected)


def test_same_gradients():
    both, (key, padding), query = modules(), source(), target(5)
    gradients = []
    for module in both:
        inputs = [x.clone().requires_grad_() for x in (query, key)]
        out = module(inputs[0], inputs[1], inputs[1], padding, static_kv=True, need_weights=False)[0]
        gradients.append(torch.autograd.grad(out.sin().sum(), [*inputs, *module.parameters()]))
    for found, expected in zip(*gradients):
        torch.testing.assert_close(found, expected)


def test_same_dropout():
    """The weights that stock drops, drawn in its order."""
    both, (key, padding), query = modules(dropout=0.5), source(), target(5)
    outputs = []
    for module in both:
        torch.manual_seed(3)
        outputs.append(module.train()(query, key, key, padding, static_kv=True, need_weights=False)[0])
    torch.testing.assert_close(*outputs)


@pytest.mark.parametrize("length", [1, 2])
@pytest.mark.parametrize("beam", [1, 3])
def test_hypotheses_of_a_sentence_share_its_keys(beam, length):
    """As if the source were repeated for each of them, in the first step and from the cache."""
    (ours, stock), (key, padding) = modules(), source()
    query, state, expected_state = target(2 * length, 3 * beam), {}, {}
    keys, mask = repeated(key, beam, 1), repeated(padding, beam, 0)
    for step in (query[:length], query[length:]):
        x, found = ours(step, key, key, padding, state, need_head_weights=True)
        y, expected = stock(step, keys, keys, mask, expected_state, static_kv=True, need_head_weights=True)
        torch.testing.assert_close(x, y)
        torch.testing.assert_close(found, expected)
        key = padding = None
    assert ours._get_input_buffer(state)["prev_key"].size(0) == 3


def test_the_beam_belongs_to_a_call():
    """A step of beam search leaves nothing behind for the next forward pass."""
    (ours, stock), (key, padding), query = modules(), source(), target(1, 6)
    before = {name: value for name, value in vars(ours).items() if name[0] != "_"}
    ours(query, key, key, padding, {}, need_weights=False)
    assert before == {name: value for name, value in vars(ours).items() if name[0] != "_"}
    query = target(4)
    torch.testing.assert_close(*(m(query, key, key, padding, static_kv=True)[0] for m in (ours, stock)))


def test_cache_follows_the_sentences():
    """Sentences 2 and 0 remain."""
    both, (key, padding), query = modules(), source(), target(2)
    order, outputs = torch.tensor([2, 0]), []
    for module in both:
        state = {}
        module(query[:1], key, key, padding, state, static_kv=True)
        module.reorder_incremental_state(state, order)
        outputs.append(module(query[1:, :2], None, None, None, state, static_kv=True)[0])
    torch.testing.assert_close(*outputs)
    assert both[0].reorder_incremental_state({}, order) == {}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    (ours, stock), (key, padding), query = modules(), source(), target(5)
    exact = stock(query, key, key, padding, static_kv=True)[0]
    query, key = query.to(dtype), key.to(dtype)
    for weights in (True, False):
        x = ours.to(dtype)(query, key, key, padding, need_weights=weights)[0]
        torch.testing.assert_close(x.float(), exact, atol=0.02, rtol=0.02)


def test_arguments_of_self_attention_are_refused():
    (ours, _), (key, padding), query = modules(), source(), target(5)
    with pytest.raises(ValueError, match="belong to self-attention"):
        ours(query, key, key, padding, attn_mask=torch.zeros(5, 7))
