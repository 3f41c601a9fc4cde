"""Linear layers with packed weights: the same numbers, whatever becomes of the weights."""

import copy
import pickle

import pytest
import torch
from torch import nn

from fairseq_posenc.attention.self_attention import PROJECTIONS, SelfAttention
from fairseq_posenc.models.packed import LEAST, PackedLinear, can_pack, pack_linear_layers
from tests.support.models import build_small_lm

pytestmark = pytest.mark.skipif(not can_pack(), reason="this PyTorch has no packed products of oneDNN")


@pytest.fixture
def packed():
    torch.manual_seed(1)
    return PackedLinear(nn.Linear(64, 96))


def of_torch(layer, x):
    return nn.functional.linear(x, layer.weight, layer.bias)


@pytest.mark.parametrize("shape", [(1, 64), (7, 64), (3, 5, 64), (0, 64)])
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_the_product(shape, bias):
    layer = PackedLinear(nn.Linear(64, 96, bias=bias))
    x = torch.randn(shape)
    with torch.no_grad():
        torch.testing.assert_close(layer(x), of_torch(layer, x))
    assert layer._packed._weight is not None


@pytest.mark.parametrize("change", ["in place", "load_state_dict", "half", "double"])
def test_changed_weights(packed, change):
    x = torch.randn(5, 64)
    with torch.no_grad():
        packed(x)
        if change == "in place":
            packed.weight.mul_(2)
        elif change == "load_state_dict":
            packed.load_state_dict(nn.Linear(64, 96).state_dict())
        elif change == "half":
            packed.half()
            x = x.half()
        else:
            packed.double()
            x = x.double()
        torch.testing.assert_close(packed(x), of_torch(packed, x))


def test_gradients(packed):
    with torch.no_grad():
        packed(torch.randn(5, 64))
    packed(torch.randn(5, 64)).sum().backward()
    assert packed.weight.grad.abs().sum() > 0


def test_autocast(packed):
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert packed(torch.randn(5, 64)).dtype == torch.bfloat16


def test_copies(packed):
    x = torch.randn(5, 64)
    with torch.no_grad():
        expected = packed(x)
        for other in (copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
            torch.testing.assert_close(other(x), expected)


def test_large_layers_of_a_model():
    model = nn.ModuleDict({"large": nn.Linear(1024, LEAST // 1024), "small": nn.Linear(1024, LEAST // 1024 - 1)})
    names = list(model.state_dict())
    pack_linear_layers(model)
    assert type(model["large"]) is PackedLinear and type(model["small"]) is nn.Linear
    assert list(model.state_dict()) == names


def test_hooks_stay():
    linear, seen = nn.Linear(8, 8), []
    linear.register_forward_hook(lambda module, args, output: seen.append(type(module)))
    with torch.no_grad():
        PackedLinear(linear)(torch.randn(2, 8))
    assert seen == [PackedLinear]


@pytest.fixture
def attention():
    torch.manual_seed(1)
    model = nn.ModuleDict({"attention": SelfAttention(32, 4)})
    for bias in (model["attention"].q_proj.bias, model["attention"].k_proj.bias, model["attention"].v_proj.bias):
        nn.init.normal_(bias)
    pack_linear_layers(model, least=1)
    return model["attention"]


def packed_and_alone(attention, x):
    """What self-attention makes of (T, B, C) with its packed projections, and without."""
    found, _ = attention(x, need_weights=False)
    packed, attention.packed_projections = attention.packed_projections, None
    expected, _ = attention(x, need_weights=False)
    attention.packed_projections = packed
    return found, expected


@pytest.mark.parametrize("name", PROJECTIONS)
@pytest.mark.parametrize("parameter", ["weight", "bias"])
@torch.no_grad()
def test_self_attention_with_changed_projections(attention, name, parameter):
    x = torch.randn(5, 3, 32)
    before, expected = packed_and_alone(attention, x)
    assert attention.packed_projections._weight is not None
    torch.testing.assert_close(before, expected)
    getattr(getattr(attention, name), parameter).normal_()
    after, expected = packed_and_alone(attention, x)
    torch.testing.assert_close(after, expected)
    # The softmax takes no notice of a bias of all keys.
    assert torch.allclose(after, before, atol=1e-3) == ((name, parameter) == ("k_proj", "bias"))


@torch.no_grad()
def test_self_attention_with_a_hook_or_another_layer(attention):
    x = torch.randn(5, 3, 32)
    before, _ = packed_and_alone(attention, x)
    handle = attention.v_proj.register_forward_hook(lambda module, args, output: 2 * output)
    assert not torch.allclose(attention(x, need_weights=False)[0], before, atol=1e-3)
    handle.remove()
    torch.testing.assert_close(attention(x, need_weights=False)[0], before)
    attention.v_proj = nn.Sequential(attention.v_proj, nn.Tanh())
    assert not torch.allclose(attention(x, need_weights=False)[0], before, atol=1e-3)


def test_the_memory_of_old_weights_is_not_taken_for_the_new_ones(packed):
    x = torch.randn(5, 64)
    with torch.no_grad():
        packed(x)
        for _ in range(20):  # the allocator would soon give the same address
            packed.double()
            packed.float()
            packed.weight.data = packed.weight.data + 1
            torch.testing.assert_close(packed(x), of_torch(packed, x))


def test_tied_weights_stay_tied():
    model = build_small_lm("alibi", "--share-decoder-input-output-embed")
    pack_linear_layers(model, least=1)
    assert type(model.decoder.output_projection) is PackedLinear
    assert model.decoder.output_projection.weight is model.decoder.embed_tokens.weight
