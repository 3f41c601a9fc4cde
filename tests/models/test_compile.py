"""torch.compile: one graph, where stock fairseq's Transformer breaks into three to six, and the same numbers."""

import pytest
import torch
from torch import _dynamo as dynamo

from tests.support.models import batch, build_small, build_small_lm, text

KINDS = ["t5", "rope", "posnet-attn"]


def assert_one_graph(model, first, second, real):
    """``first`` and ``second``: inputs of two lengths; ``real``: of an output, what is no padding."""
    dynamo.reset()
    explained = dynamo.explain(model)(**first)
    assert (explained.graph_count, explained.graph_break_count) == (1, 0), explained.break_reasons
    dynamo.reset()
    compiled = torch.compile(model, backend="aot_eager")
    for inputs in (first, second):
        found, expected = (real(each(**inputs)[0], inputs) for each in (compiled, model))
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
        parameters = list(model.parameters())
        gradients = [torch.autograd.grad(out.sin().sum(), parameters, allow_unused=True) for out in (found, expected)]
        for of_compiled, gradient in zip(*gradients):
            torch.testing.assert_close(of_compiled, gradient, atol=1e-4, rtol=1e-4)
    dynamo.reset()


@pytest.mark.parametrize("name", KINDS)
def test_language_model(name):
    def real(out, inputs):
        return out[inputs["src_tokens"].ne(1)]

    inputs = ({"src_tokens": text(lengths)} for lengths in ((9, 5), (12, 12)))
    assert_one_graph(build_small_lm(name).eval(), *inputs, real)


def test_translation_model():
    def real(out, inputs):
        return out[inputs["prev_output_tokens"].ne(1)]

    inputs = (batch(lengths, lengths) for lengths in ((6, 3), (8, 8)))
    assert_one_graph(build_small("posnet-attn").eval(), *inputs, real)
