"""--attention-scale: factors by the keys that each query sees, in one pass, step by step and with padding."""

import math

import pytest
import torch

from fairseq_posenc.attention.patterns import attention_pattern
from fairseq_posenc.attention.scales import attention_scale
from fairseq_posenc.attention.self_attention import CAUSAL, SelfAttention
from fairseq_posenc.encodings import Stack, encoding_class
from fairseq_posenc.errors import InputError
from tests.support.attention import DIM, HEADS, padded, random_text, sees
from tests.support.encodings import CASES
from tests.support.models import batch, build_small, build_small_lm, incremental_logits, text

SCALES = ["log-n:3", "ssmax:0.6", "yarn:4"]


def attention(name, scale, causal=True):
    torch.manual_seed(1)
    module = SelfAttention(DIM, HEADS, scale=attention_scale(scale)).double().eval()
    if name is not None:
        module.attach(encoding_class(name)(Stack(DIM, HEADS, causal=causal), **CASES[name].options).double().eval())
    return module


def naive_factor(scale, count, head):
    name, _, number = scale.partition(":")
    if name == "log-n":
        return max(1, math.log(count) / math.log(int(number)))
    if name == "ssmax":
        return (float(number) + 0.1 * head) * math.log(count)
    return (0.1 * math.log(float(number)) + 1) ** 2


def expected(module, x, scale, visible):
    """Attention of one text x (T, 1, C) whose queries are multiplied one by one; ``visible(i, j)``."""
    length = x.size(0)
    q, k, v = (
        p(x[:, 0]).view(length, HEADS, -1).transpose(0, 1) for p in (module.q_proj, module.k_proj, module.v_proj)
    )
    bias = torch.zeros(HEADS, length, length)
    if module.position_encoding is not None:
        bias = module.position_encoding.bias(range(length), range(length), x.device)
    out = torch.zeros_like(q)
    for i in range(length):
        keys = [j for j in range(length) if visible(i, j)]
        for head in range(HEADS):
            scores = naive_factor(scale, len(keys), head) * (k[head, keys] @ q[head, i]) / math.sqrt(q.size(-1))
            out[head, i] = (scores + bias[head, i, keys]).softmax(0) @ v[head, keys]
    return module.out_proj(out.transpose(0, 1).reshape(length, 1, DIM))


def spread(module):
    """Another learned factor for each head."""
    if module.learned_scale is not None:
        with torch.no_grad():
            module.learned_scale += 0.1 * torch.arange(HEADS)


@pytest.mark.parametrize("name", [None, "alibi"], ids=str)
@pytest.mark.parametrize("pattern", ["full", "window:4", "blockwise:6", "sinks:2,window:3"])
@pytest.mark.parametrize("scale", SCALES)
def test_causal(scale, pattern, name):
    """Alone, padded on either side, and step by step."""
    module, x = attention(name, scale), random_text(11)
    module.use_pattern(attention_pattern(pattern))
    spread(module)
    wholes = [expected(module, x[:, b : b + 1], scale, lambda i, j: sees(pattern, i, j)) for b in range(2)]
    out = module(x, x, x, need_weights=False, attn_mask=CAUSAL)[0]
    torch.testing.assert_close(out, torch.cat(wholes, dim=1), atol=1e-6, rtol=0)
    for left in (True, False):
        padding = padded(14, (11, 11), left)
        wide = torch.zeros(14, 2, DIM, dtype=x.dtype)
        wide[3:] = x
        wide = wide if left else wide.roll(-3, 0)
        out = module(wide, wide, wide, padding, need_weights=False, attn_mask=CAUSAL)[0]
        torch.testing.assert_close(out[3:] if left else out[:11], torch.cat(wholes, dim=1), atol=1e-6, rtol=0)
        assert out.isfinite().all()
    state = {}
    steps = [module(token[None], None, None, None, state, need_weights=False)[0] for token in x]
    torch.testing.assert_close(torch.cat(steps), torch.cat(wholes, dim=1), atol=1e-6, rtol=0)


@pytest.mark.parametrize("scale", SCALES)
def test_encoder(scale):
    """All tokens of a sentence, and no padding, are counted."""
    module, x, padding = attention(None, scale, causal=False), random_text(9), padded(9, (9, 6), True)
    spread(module)
    out = module(x, x, x, padding, need_weights=False)[0]
    torch.testing.assert_close(out[:, :1], expected(module, x[:, :1], scale, lambda i, j: True), atol=1e-6, rtol=0)
    torch.testing.assert_close(out[3:, 1:], expected(module, x[3:, 1:], scale, lambda i, j: True), atol=1e-6, rtol=0)


@pytest.mark.parametrize("scale", SCALES)
def test_models(scale):
    """Steps equal one pass; recomputed layers learn the same; log-n changes nothing up to the training length."""
    gradients = []
    for flags in ((), ("--checkpoint-activations",)):
        model = build_small("xpos", "--attention-scale", scale, *flags)
        sample = batch(left_pad_target=True)
        real = sample["prev_output_tokens"] != 1
        with torch.no_grad():
            found, whole = incremental_logits(model, sample), model(**sample)[0]
        torch.testing.assert_close(found[real], whole[real], atol=1e-5, rtol=0)
        model.train()(**sample)[0].pow(2).sum().backward()
        gradients.append({n: p.grad for n, p in model.named_parameters()})
    assert ("decoder.layers.1.self_attn.learned_scale" in gradients[0]) == scale.startswith("ssmax")
    for parameter, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][parameter], gradient, atol=1e-4, rtol=1e-4, msg=parameter)
    plain, longer = build_small_lm("rope"), build_small_lm("rope", "--attention-scale", "log-n:9")
    longer.load_state_dict(plain.state_dict())
    torch.testing.assert_close(longer(text((9, 5)))[0], plain(text((9, 5)))[0])
    change = (longer(text((12,)))[0] - plain(text((12,)))[0]).abs().amax(-1)[0]
    assert change[:9].max() < 1e-5 < change[9:].min()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("logn:512", r"one of plain, log-n:L, ssmax\[:S\], yarn:S, but is logn:512 \(did you mean log-n\?\)"),
        ("log-n", "log-n: write log-n:L, each letter a whole number"),
        ("log-n:1", "--attention-scale log-n:1: L must be between 2 and"),
        ("ssmax:0", "S must be between"),
        ("yarn:0.5", "S must be between 1 and"),
        ("plain:2", "plain:2: write plain"),
    ],
)
def test_bad_names_are_refused(text, told):
    with pytest.raises(InputError, match=told) as caught:
        attention_scale(text)
    assert "\n" not in str(caught.value)


def test_names():
    assert attention_scale("plain") is attention_scale(None) is None
    assert str(attention_scale("ssmax")) == "ssmax:0.43" and str(attention_scale("yarn:4")) == "yarn:4"
    assert attention_scale(attention_scale("log-n:512")) == attention_scale("log-n:512")
