"""What is added to the scores, and its gradient."""

import pytest
import torch

from fairseq_posenc.attention.masks import additive


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rounding_adds_nothing_to_the_gradient_of_all_keys(dtype):
    """The gradient of a number that is added for every key is zero, also where the gradients are rounded."""
    torch.manual_seed(1)
    visible = torch.ones(1, 1, 64, 64, dtype=torch.bool).tril()
    bias = torch.randn(1, 4, 64, 64, requires_grad=True)
    weights = (torch.randn(2, 4, 64, 64).double() + bias.detach()).masked_fill(~visible, -torch.inf).softmax(-1)
    upstream = torch.randn(2, 4, 64, 64, dtype=torch.float64)
    exact = weights * (upstream - (weights * upstream).sum(-1, keepdim=True))

    rounded = exact.to(dtype)
    additive(visible, bias, dtype).expand(2, -1, -1, -1).backward(rounded)
    plain = rounded.sum(0, keepdim=True).float()
    expected = exact.sum(0, keepdim=True).float()
    assert plain.sum(-1).abs().max() > 1e-4
    assert bias.grad.sum(-1).abs().max() < 2e-6
    assert not bias.grad.masked_select(~visible).any()
    assert (bias.grad - expected).norm() < 1.05 * (plain - expected).norm()


def test_the_gradient_in_full_precision_is_left_as_it_is():
    bias, upstream = torch.randn(1, 2, 5, 7, requires_grad=True), torch.randn(3, 2, 5, 7)
    additive(None, bias, torch.float32).expand(3, -1, -1, -1).backward(upstream)
    torch.testing.assert_close(bias.grad, upstream.sum(0, keepdim=True))
