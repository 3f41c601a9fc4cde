"""Layers that --encoder-layers-to-keep and --decoder-layers-to-keep leave out take their encodings with them."""

import copy
from argparse import Namespace

import pytest
import torch
from torch import nn

from fairseq_posenc.errors import InputError
from fairseq_posenc.models.pruning import settle_layers_to_keep
from tests.support.models import batch, build_small, build_small_lm, text

LAYERS = ("--encoder-layers", 3, "--decoder-layers", 3)
ENCODINGS = {
    "shaw": (),
    "t5": ("--t5-layers", "separate"),
    "kerple-log": ("--kerple-log-layers", "separate"),
    "adaptive-t5 first": (),
    "adaptive-t5 shared": ("--adaptive-t5-layers", "shared"),
    "adaptive-t5 separate": ("--adaptive-t5-layers", "separate"),
    "posnet-attn": ("--posnet-attn-kernels", "layer"),
    "posnet-embed": (),
    "sinusoidal": (),
    "rope": (),
}


def trained(build, name, *layers):
    """A model whose layers differ in all of their parameters."""
    model = build(name.split()[0], *layers, *ENCODINGS[name])
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model


def without_layers(model, **kept):
    """The same model, its layers taken out by hand; every attention keeps the encoding that it has."""
    model = copy.deepcopy(model)
    for side, layers in kept.items():
        stack = getattr(model, side)
        stack.layers = nn.ModuleList(stack.layers[layer] for layer in layers)
        stack.num_layers = len(layers)
    return model


def pruned(build, model, name, *layers, **kept):
    """The same by fairseq's flags."""
    words = {f"{side}_layers_to_keep": ",".join(map(str, numbers)) for side, numbers in kept.items()}
    flags = [word for flag, value in words.items() for word in (f"--{flag.replace('_', '-')}", value)]
    smaller = build(name.split()[0], *layers, *ENCODINGS[name], *flags)
    cfg = Namespace(arch="ours", **{"encoder_layers_to_keep": None, "decoder_layers_to_keep": None, **words})
    smaller.load_state_dict(copy.deepcopy(model.state_dict()), strict=True, model_cfg=cfg)
    return smaller


@pytest.mark.parametrize("kept", [[0, 2], [1, 2], [2], [0]])
@pytest.mark.parametrize("name", ENCODINGS)
def test_pruned_translation_model_is_the_whole_one_without_these_layers(name, kept):
    model = trained(build_small, name, *LAYERS)
    sides = {"encoder": kept, "decoder": [0, 1]}
    smaller, expected = pruned(build_small, model, name, *LAYERS, **sides), without_layers(model, **sides)
    torch.testing.assert_close(smaller(**batch())[0], expected(**batch())[0], atol=1e-5, rtol=0)
    assert not torch.allclose(smaller(**batch())[0], model(**batch())[0], atol=1e-3)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_one_side_alone(side):
    """Stock fairseq then drops all layers of the other side, and fails."""
    model = trained(build_small, "shaw", *LAYERS)
    smaller = pruned(build_small, model, "shaw", *LAYERS, **{side: [1, 2]})
    expected = without_layers(model, **{side: [1, 2]})
    torch.testing.assert_close(smaller(**batch())[0], expected(**batch())[0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("kept", [[0, 2], [1, 2]])
@pytest.mark.parametrize("name", ENCODINGS)
def test_pruned_language_model(name, kept):
    layers = ("--decoder-layers", 3)
    model = trained(build_small_lm, name, *layers)
    smaller = pruned(build_small_lm, model, name, *layers, decoder=kept)
    torch.testing.assert_close(smaller(text())[0], without_layers(model, decoder=kept)(text())[0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("kept", ["0,3", "0,0", "-1", "a,b", "0;1"])
def test_layers_that_are_not_there_are_refused(kept):
    """Such words come from --model-overrides."""
    with pytest.raises(InputError, match=f"--encoder-layers-to-keep {kept} must be different whole numbers"):
        settle_layers_to_keep(Namespace(encoder_layers=3, encoder_layers_to_keep=kept), "encoder")
    with pytest.raises(InputError, match="--encoder-layers-to-keep 0,3 must be"):
        build_small("shaw", *LAYERS, "--encoder-layers-to-keep", "0,3")
