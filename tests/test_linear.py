"""Products by oneDNN are those of PyTorch, with the gradients, and are used where they should be."""

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from fairseq_posenc import linear
from fairseq_posenc.criterions import sliced_loss
from fairseq_posenc.criterions.sliced_loss import sliced_cross_entropy
from fairseq_posenc.encodings import encoding_names
from tests.support.models import batch, build_small, build_small_lm, text

pytestmark = pytest.mark.skipif(
    not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="this PyTorch has no products of oneDNN"
)


@pytest.fixture
def everywhere(monkeypatch):
    """oneDNN's products on any processor and for any size, and how many were computed."""
    monkeypatch.setattr(linear, "onednn_is_faster", lambda: True)
    monkeypatch.setattr(linear, "LEAST", 0)
    calls, product = [], linear.product
    monkeypatch.setattr(linear, "product", lambda *args: calls.append(args) or product(*args))
    return calls


def layer(inputs, outputs, bias=True):
    torch.manual_seed(1)
    return linear.Linear(inputs, outputs, bias=bias)


def exact(x, weight, bias, grad):
    """Output and gradients in fp64."""
    parts = [None if t is None else t.detach().double().requires_grad_() for t in (x, weight, bias)]
    out = F.linear(*parts)
    return out, torch.autograd.grad(out, [t for t in parts if t is not None], grad.double())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 24), (50, 24), (3, 7, 24)])
@pytest.mark.parametrize("outputs", [40, linear.ROWS + 5])
def test_output_and_gradients(everywhere, shape, outputs, bias):
    own = layer(24, outputs, bias)
    x = torch.randn(shape, requires_grad=True)
    grad = torch.randn(*shape[:-1], outputs)
    out = own(x)
    out.backward(grad)
    assert everywhere
    expected, gradients = exact(x, own.weight, own.bias, grad)
    torch.testing.assert_close(out, expected.float())
    for p, gradient in zip((x, own.weight, own.bias) if bias else (x, own.weight), gradients):
        torch.testing.assert_close(p.grad, gradient.float(), rtol=1e-4, atol=1e-4)


def test_strides(everywhere):
    """As attention reads and returns them: other axes first."""
    own = layer(24, 40)
    x = torch.randn(24, 5, 3).permute(2, 1, 0).requires_grad_()
    grad = torch.randn(40, 3, 5).permute(1, 2, 0)
    out = own(x)
    found = torch.autograd.grad(out, (x, own.weight, own.bias), grad)
    expected, gradients = exact(x, own.weight, own.bias, grad)
    torch.testing.assert_close(out, expected.float())
    for ours, theirs in zip(found, gradients):
        torch.testing.assert_close(ours, theirs.float(), rtol=1e-4, atol=1e-5)


@pytest.fixture
def shapes(everywhere, monkeypatch):
    """Of what oneDNN multiplies with a weight."""
    found, onednn = set(), linear._onednn

    def noted(x, weight, bias):
        found.add(tuple(x.shape))
        return onednn(x, weight, bias)

    monkeypatch.setattr(linear, "_onednn", noted)
    return found


def test_few_numbers_of_rows(shapes):
    """oneDNN keeps code for each number of rows that it gets, here a few of those that batches have."""
    own = layer(24, 40)
    for rows in range(256, 513):
        x = torch.randn(rows, 24, requires_grad=True)
        own(x).sum().backward()
    assert len(shapes) == 3 * (linear.ROW_COUNTS + 1)  # forward, and the gradients of input and weight


def test_slices_have_no_rows_over(shapes, monkeypatch):
    monkeypatch.setattr(sliced_loss, "CPU_SLICE", 209 * 50)
    sliced_cross_entropy(torch.randn(416, 16), torch.randn(50, 16), torch.randint(2, 50, (416,)), 1, 0.1)
    assert shapes == {(208, 16)}


@pytest.mark.parametrize("frozen", ["x", "weight", "bias"])
def test_only_wanted_gradients(everywhere, frozen):
    own = layer(24, 40)
    x = torch.randn(5, 24, requires_grad=True)
    parts = {"x": x, "weight": own.weight, "bias": own.bias}
    parts.pop(frozen).requires_grad_(False)
    own(x).sum().backward()
    assert all(p.grad is not None for p in parts.values())
    assert {"x": x, "weight": own.weight, "bias": own.bias}[frozen].grad is None


def test_without_gradients(everywhere):
    own = layer(24, 40)
    with torch.no_grad():
        assert not own(torch.randn(5, 24)).requires_grad
    assert len(everywhere) == 1


def test_gradients_of_gradients(everywhere):
    """A penalty on the gradient of the input."""
    found = []
    for enabled in (True, False):
        own = layer(24, 40)
        x = torch.linspace(-1, 1, 5 * 24).view(5, 24).requires_grad_()
        with torch.backends.mkldnn.flags(enabled=enabled):
            (gradient,) = torch.autograd.grad(own(x).tanh().sum(), x, create_graph=True)
            gradient.square().sum().backward()
        found.append(own.weight.grad)
    assert everywhere
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


def test_it_adds_to_a_total():
    total, a, b = torch.ones(linear.ROWS + 3, 8), torch.randn(20, linear.ROWS + 3), torch.randn(20, 8)
    expected = total.double() + a.double().t() @ b.double()
    torch.testing.assert_close(linear.add_product_(total, a, b), expected.float(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_precisions_are_pytorchs(everywhere, dtype):
    own, x = layer(24, 40).to(dtype), torch.randn(5, 24, dtype=dtype)
    assert torch.equal(own(x), F.linear(x, own.weight, own.bias))
    assert not everywhere


def test_when_it_is_not_used(everywhere, monkeypatch):
    own, x = layer(24, 40), torch.randn(5, 24)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert own(x).dtype == torch.bfloat16
    with torch.backends.mkldnn.flags(enabled=False):
        assert torch.equal(own(x), F.linear(x, own.weight, own.bias))
    assert own(x[0]).shape == (40,)  # a row is no matrix
    monkeypatch.setattr(linear, "LEAST", 5 * 24 * 40 + 1)
    assert torch.equal(own(x), F.linear(x, own.weight, own.bias))
    assert not everywhere


@pytest.mark.parametrize(
    "vendor, capability, expected",
    [("AuthenticAMD", "AVX512", True), ("AuthenticAMD", "AVX2", False), ("GenuineIntel", "AVX512", False)],
)
def test_processors(tmp_path, monkeypatch, vendor, capability, expected):
    (tmp_path / "cpuinfo").write_text(f"processor : 0\nvendor_id : {vendor}\n")
    monkeypatch.setattr(linear, "PROCESSORS", tmp_path / "cpuinfo")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    assert linear.onednn_is_faster.__wrapped__() is expected


def test_layers_of_a_model(everywhere, monkeypatch):
    """They keep their parameters and names, in copies too; on other processors nothing changes."""
    model = build_small("transformer-xl")
    layers = [m for m in model.modules() if isinstance(m, nn.Linear)]
    assert layers and all(type(m) is linear.Linear for m in layers)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(other.decoder.layers[0].fc1) is linear.Linear
    monkeypatch.setattr(linear, "onednn_is_faster", lambda: False)
    plain = build_small("transformer-xl")
    assert not any(isinstance(m, linear.Linear) for m in plain.modules())
    assert plain.state_dict().keys() == model.state_dict().keys()


@pytest.mark.parametrize("name", encoding_names())
def test_training_of_a_model(everywhere, name):
    """Loss and gradients of every encoding, in translation and where it is causal."""
    for build, inputs in ((lambda: build_small(name), batch()), (lambda: build_small_lm(name), text())):
        found = []
        for enabled in (True, False):
            torch.manual_seed(1)
            model = build().eval()
            everywhere.clear()
            with torch.backends.mkldnn.flags(enabled=enabled):
                out = model(**inputs) if isinstance(inputs, dict) else model(inputs)
                out[0].float().log_softmax(-1)[..., 3].sum().backward()
            assert bool(everywhere) == enabled
            found.append({n: p.grad for n, p in model.named_parameters() if p.grad is not None})
        assert found[0].keys() == found[1].keys()
        for n, gradient in found[0].items():
            torch.testing.assert_close(gradient, found[1][n], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_sliced_losses(everywhere, epsilon):
    found = []
    for enabled in (True, False):
        torch.manual_seed(2)
        features, weight = (torch.randn(n, 16, requires_grad=True) for n in (50, 3000))
        target = torch.randint(2, 3000, (50,))
        with torch.backends.mkldnn.flags(enabled=enabled):
            losses = sliced_cross_entropy(features, weight, target, 1, epsilon)
            losses.loss.backward()
        found.append((losses.loss, losses.nll_loss, features.grad, weight.grad))
    for ours, theirs in zip(*found):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
