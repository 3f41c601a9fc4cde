"""--checkpoint-activations computes layers once more in the backward pass, and must not change their gradients."""

import pytest
import torch

from fairseq_posenc.encodings import encoding_class, encoding_names
from tests.support.models import batch, build_small, build_small_lm, text

SHARING = {
    **dict.fromkeys(encoding_names(), ()),
    "adaptive-t5 shared": ("--adaptive-t5-layers", "shared"),
    "adaptive-t5 separate": ("--adaptive-t5-layers", "separate"),
    "shaw shared": ("--shaw-layers", "shared"),
    "t5 separate": ("--t5-layers", "separate"),
    "kerple-log separate": ("--kerple-log-layers", "separate"),
    "posnet-attn by layer": ("--posnet-attn-kernels", "layer", "--posnet-attn-dropout", 0.5),
}
DROPOUT = ("--dropout", 0.2, "--attention-dropout", 0.1, "--activation-dropout", 0.1)


def gradients(model, inputs):
    """Of all parameters, after two passes of training."""
    model.train()
    torch.manual_seed(3)
    for _ in range(2):
        model(**inputs)[0].sin().sum().backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def assert_same(build, name, layers, inputs, flag="--checkpoint-activations"):
    words = (*layers, *DROPOUT, *SHARING[name])
    plain, checkpointed = (build(name.split()[0], *words, *flags) for flags in ((), (flag,)))
    expected, found = gradients(plain, inputs), gradients(checkpointed, inputs)
    assert list(found) == list(expected)
    for parameter, gradient in expected.items():
        torch.testing.assert_close(found[parameter], gradient, atol=2e-4, rtol=1e-4, msg=parameter)


@pytest.mark.parametrize("name", SHARING)
def test_translation_model(name):
    assert_same(build_small, name, ("--encoder-layers", 3, "--decoder-layers", 3), batch())


@pytest.mark.parametrize("name", ["adaptive-t5 shared", "t5", "xpos"])
@pytest.mark.parametrize("pattern", ["full", "window:3", "blockwise:4", "sinks:1,window:2"])
def test_language_model(name, pattern):
    layers = ("--decoder-layers", 3, "--attention-pattern", pattern)
    assert_same(build_small_lm, name, layers, {"src_tokens": text()})


def test_offloaded_to_the_cpu():
    layers = ("--encoder-layers", 3, "--decoder-layers", 3)
    assert_same(build_small, "t5", layers, batch(), "--offload-activations")


def test_what_layers_share_is_computed_once(monkeypatch):
    """And not again for each layer that the backward pass recomputes."""
    alibi, calls = encoding_class("alibi"), []
    by_distance = alibi.by_distance

    def counted(self, distances):
        calls.append(self)
        return by_distance(self, distances)

    monkeypatch.setattr(alibi, "by_distance", counted)
    model = build_small("alibi", "--encoder-layers", 3, "--decoder-layers", 3, "--checkpoint-activations").train()
    model(**batch())[0].sum().backward()
    assert calls == [model.encoder.embed_positions, model.decoder.embed_positions]


def test_passes_drop_differently():
    model = build_small("adaptive-t5", "--adaptive-t5-layers", "shared").train()
    first, second = (model(**batch())[0] for _ in range(2))
    assert not torch.equal(first, second)
