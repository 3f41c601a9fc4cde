"""The gradient of a bias by our kernels, on a GPU where there is one, else in Triton's interpreter."""

import math

import numpy
import pytest
import torch

triton = pytest.importorskip("triton", reason="needs triton, which CPU builds of PyTorch leave out: pip install triton")
old_triton, new_numpy = triton.__version__ < "3.7", numpy.lib.NumpyVersion(numpy.__version__) >= "2.5.0"
if old_triton and new_numpy and not torch.cuda.is_available():
    pytest.skip("Triton before 3.7 does not interpret kernels with NumPy 2.5", allow_module_level=True)

from fairseq_posenc.attention.bias_gradient import bias_gradient, with_bias_gradient  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
#: The interpreter rounds to bf16 by leaving out bits.
DTYPES = [torch.float32, torch.float16] + [torch.bfloat16] * torch.cuda.is_available()
TOLERANCE = {torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def draw(*shape, dtype, seed=0):
    """(B, H, T, D) as projections write it: heads of a token side by side."""
    batch, heads, length, dim = shape
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(length, batch, heads, dim, generator=generator).to(DEVICE, dtype)
    return x.permute(1, 2, 0, 3)


def error(found, expected):
    return float((found.detach().double() - expected.detach()).norm() / expected.detach().norm())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "batch, heads, queries, keys, dim, causal",
    [
        (2, 2, 128, 128, 64, True),
        pytest.param(3, 2, 70, 70, 24, True, id="no whole tiles"),
        pytest.param(5, 3, 33, 130, 64, False, id="more keys than queries"),
        pytest.param(130, 1, 5, 5, 16, True, id="many short sentences"),
    ],
)
def test_bias_gradient(batch, heads, queries, keys, dim, causal, dtype):
    q, grad = (draw(batch, heads, queries, dim, dtype=dtype, seed=seed).requires_grad_() for seed in (1, 2))
    k, v = (draw(batch, heads, keys, dim, dtype=dtype, seed=seed).requires_grad_() for seed in (3, 4))
    mask = draw(1, heads, queries, keys, dtype=dtype, seed=5).contiguous()
    hidden = torch.ones(queries, keys, dtype=torch.bool, device=DEVICE).triu(1)
    if not causal:
        hidden = torch.zeros_like(hidden)
        hidden[:, 2] = True
    mask = mask.masked_fill(hidden, -math.inf).requires_grad_()
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask.detach())
    out = with_bias_gradient(out, q, k, v, mask, 1 / math.sqrt(dim))
    found = torch.autograd.grad(out, (q, k, v, mask), grad)

    wide = [x.detach().double().requires_grad_() for x in (q, k, v, mask)]
    weights = torch.softmax(wide[0] @ wide[1].transpose(-2, -1) / math.sqrt(dim) + wide[3], dim=-1)
    expected = torch.autograd.grad(weights @ wide[2], wide, grad.detach().double())
    assert found[3].shape == mask.shape and found[3].dtype == dtype
    for one, other in zip(found, expected):
        assert error(one, other) < 2 * TOLERANCE[dtype]


def test_a_query_that_sees_nothing_has_no_gradient():
    q, k, v, grad = (draw(2, 1, 4, 16, dtype=torch.float32, seed=seed) for seed in range(4))
    mask = torch.zeros(1, 1, 4, 4, device=DEVICE)
    mask[:, :, 1] = -math.inf
    found = bias_gradient(grad, torch.zeros_like(q), q, k, v, mask, 0.25)
    assert torch.equal(found[:, :, 1], torch.zeros(1, 1, 4, device=DEVICE))
    assert found.isfinite().all() and found[:, :, 0].abs().sum() > 0
