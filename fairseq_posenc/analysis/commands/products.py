"""The matrix products of a computation, and the time that they take alone on this machine."""

import math
from collections import Counter
from functools import partial

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_posenc.analysis.timer import now

#: Every product is done so many times; the shortest time counts.
REPETITIONS = 3
#: The product of linear.py and of attention/packed_weights.py.
ONEDNN = "_linear_pointwise"


class Products(TorchDispatchMode):
    """Context manager that records every matrix product.

    Attributes:
        counts: {(b, m, k, n, dtype, device, onednn): how many products of b matrices (m, k) with b matrices (k, n)};
            ``onednn``: whether the operation is ONEDNN.
    """

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        tensors = [x for x in args if isinstance(x, torch.Tensor)]
        for shape in products_of(name, [tuple(x.shape) for x in tensors]):
            self.counts[(*shape, tensors[0].dtype, tensors[0].device, name == ONEDNN)] += 1
        return function(*args, **(kwargs or {}))

    def flops(self):
        """Floating-point operations of all products."""
        return sum(2 * b * m * k * n * count for (b, m, k, n, *_), count in self.counts.items())

    def seconds(self):
        """The time of all products, each done alone."""
        return sum(count * seconds_of(*product) for product, count in self.counts.items())


def products_of(name, shapes):
    """The products [(b, m, k, n)] in an operation of PyTorch whose tensors have these shapes."""
    name = name.rstrip("_")
    if name in ("mm", "addmm"):
        (m, k), (_, n) = shapes[-2:]
        return [(1, m, k, n)]
    if name == ONEDNN:
        (*rows, k), (n, _) = shapes[:2]
        return [(1, math.prod(rows), k, n)]
    if name in ("bmm", "baddbmm"):
        (b, m, k), (_, _, n) = shapes[-2:]
        return [(b, m, k, n)]
    if name.startswith("_scaled_dot_product_") and "attention" in name:
        backward = name.endswith("_backward")
        q, k, v = shapes[1:4] if backward else shapes[:3]
        b, queries, keys = math.prod(q[:-2]), q[-2], k[-2]
        scores, mixture = (b, queries, q[-1], keys), (b, queries, keys, v[-1])
        # Backward: the gradients of weights and values, of queries and keys.
        return [mixture, mixture, scores, scores] if backward else [scores, mixture]
    return []


def seconds_of(b, m, k, n, dtype, device, onednn=False):
    """The time of one product of b matrices (m, k) with b matrices (k, n), by oneDNN or as PyTorch does it."""
    left = torch.randn(b, m, k, dtype=dtype, device=device)
    right = torch.randn(b, n, k, dtype=dtype, device=device)
    if onednn:
        multiply = partial(torch.ops.mkldnn._linear_pointwise, left[0], right[0], None, "none", [], "")
    elif b == 1:
        multiply = partial(torch.mm, left[0], right[0].t(), out=torch.empty(m, n, dtype=dtype, device=device))
    else:
        result = torch.empty(b, m, n, dtype=dtype, device=device)
        multiply = partial(torch.bmm, left, right.transpose(1, 2), out=result)
    shortest = math.inf
    with torch.no_grad():
        for _ in range(1 + REPETITIONS):
            begin = now(device.type)
            multiply()
            shortest = min(shortest, now(device.type) - begin)
    return shortest
