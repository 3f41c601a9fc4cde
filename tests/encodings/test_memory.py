"""What grows with the length, counted in numbers of the largest tensor."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fairseq_posenc.encodings import Stack, encoding_class


class Largest(TorchDispatchMode):
    """Records the size of the largest tensor that any operation returns in memory of its own."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                self.numbers = max(self.numbers, tensor.untyped_storage().nbytes() // tensor.element_size())
        return out


@pytest.mark.parametrize("causal", [True, False])
def test_shaw_has_no_vector_for_a_pair_of_tokens(causal):
    """Forward and backward: scores of L x L and tables by distance, never L x L x D."""
    length, dim = 96, 32
    encoding = encoding_class("shaw")(Stack(dim, 1, causal=causal), clip=4)
    x = torch.randn(1, 1, length, dim, requires_grad=True)
    with Largest() as largest:
        weights = encoding.scores(x, x, range(length), range(length)).softmax(-1)
        encoding.mix(weights, x, range(length), range(length)).sum().backward()
    assert largest.numbers == length * length


@pytest.mark.parametrize(
    "name", ["t5", "adaptive-t5", "alibi", "sandwich", "kerple-log", "kerple-power", "dynamic-bias"]
)
def test_a_bias_is_computed_by_distance(name):
    """What an encoding computes itself has a row a distance; only the spreading makes L x L numbers."""
    length = 300
    encoding = encoding_class(name)(Stack(8, 2, causal=False))
    with Largest() as largest:
        encoding.by_distance(torch.arange(length - 1, -length, -1))
    assert largest.numbers < length * length
