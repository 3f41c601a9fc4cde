"""Linear layers and products of matrices, by oneDNN where it multiplies faster than PyTorch does by itself.

PyTorch's own products in fp32 on CPUs are MKL's, which use AVX-512 on processors of Intel only. On processors of AMD
that have AVX-512, oneDNN's products take half as long. ``torch.backends.mkldnn.flags(enabled=False)`` turns this off.
"""

from functools import cache
from pathlib import Path
from typing import Any, Optional, TypeGuard

import torch
from torch import nn
from torch.nn import functional as F

from fairseq_posenc.encodings.positions import is_eager

#: Multiplications of the smallest product that gains more than a function of our own costs.
LEAST = 2**22
#: Rows of one part of the gradient of a weight, which stays in the cache until it is added to the others.
ROWS = 2048
#: Between a power of two and the next one, oneDNN gets so many different numbers of rows. For each that is new, it
#: makes code, which takes milliseconds, and keeps it, which takes half a megabyte.
ROW_COUNTS = 8
PROCESSORS = Path("/proc/cpuinfo")


class Linear(nn.Linear):
    """An ``nn.Linear`` whose products, forward and backward, are oneDNN's where these are faster."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if is_faster(x, self.weight):
            return product(x, self.weight, self.bias)
        return super().forward(x)


def is_linear(layer: Any) -> TypeGuard[nn.Linear]:
    """Whether a layer is an ``nn.Linear`` or ours, and nothing that computes something else."""
    return type(layer) in (nn.Linear, Linear)


def use_faster_products(model: nn.Module) -> None:
    """Make every ``nn.Linear`` of ``model`` ours, if this machine multiplies faster with oneDNN."""
    if onednn_is_faster():
        for module in model.modules():
            if type(module) is nn.Linear:
                module.__class__ = Linear


def is_faster(x: torch.Tensor, weight: torch.Tensor) -> bool:
    """Whether ``product(x, weight)`` can be computed, and is faster than ``x @ weight.t()``."""
    return (
        is_eager()
        and onednn_is_faster()
        and x.dtype == weight.dtype == torch.float32
        and x.device.type == weight.device.type == "cpu"
        and x.dim() >= 2
        and x.numel() * weight.size(0) >= LEAST
        and torch.backends.mkldnn.enabled
        and not torch.is_autocast_enabled("cpu")
        and not torch.jit.is_tracing()
    )


@cache
def onednn_is_faster() -> bool:
    """Whether this is a processor of AMD with AVX-512, and this PyTorch has products of MKL and of oneDNN."""
    has_both = torch.backends.mkl.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    if not has_both or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    return PROCESSORS.exists() and "AuthenticAMD" in PROCESSORS.read_text()


def product(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    """``x @ weight.t() + bias`` by oneDNN: (.., K), (M, K) and (M,) -> (.., M)."""
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, weight, bias)):
        return _Product.apply(x, weight, bias)
    rows, shape = x.reshape(-1, x.size(-1)), (*x.shape[:-1], weight.size(0))
    whole = whole_rows(len(rows))
    if whole == len(rows):
        return _onednn(x, weight, bias)
    # Whichever is smaller is copied: what is read, to have more rows, or what comes out, to have the last ones.
    if x.size(-1) <= weight.size(0):
        more = -len(rows) % _row_step(len(rows))
        return _onednn(F.pad(rows, (0, 0, 0, more)), weight, bias).resize_(shape)
    return torch.cat([_onednn(rows[:whole], weight, bias), F.linear(rows[whole:], weight, bias)]).resize_(shape)


def transposed_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``a.t() @ b`` by oneDNN: (N, M) and (N, K) -> (M, K)."""
    if a.size(1) > ROWS:
        return add_product_(a.new_zeros(a.size(1), b.size(1)), a, b)
    whole = whole_rows(len(a))
    total = _onednn(a[:whole].t(), b[:whole].t(), None)
    return total if whole == len(a) else total.addmm_(a[whole:].t(), b[whole:])


def add_product_(total: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Add ``a.t() @ b`` by oneDNN: (N, M) and (N, K) to (M, K)."""
    for start in range(0, total.size(0), ROWS):
        part = slice(start, start + ROWS)
        total[part] += transposed_product(a[:, part], b)
    return total


def whole_rows(rows: int) -> int:
    """How many of so many rows oneDNN multiplies as they are."""
    return rows - rows % _row_step(rows)


def _row_step(rows: int) -> int:
    return max(1, (1 << rows.bit_length()) // (2 * ROW_COUNTS))


def _onednn(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        return product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Optional[torch.Tensor], ...]:
        (x, weight), (x_needs, weight_needs, bias_needs) = ctx.saved_tensors, ctx.needs_input_grad
        rows, grads = x.reshape(-1, x.size(-1)), grad.reshape(-1, grad.size(-1))
        of_x = of_weight = None
        if torch.is_grad_enabled():  # the gradients are to be differentiated too
            of_x, of_weight = grads @ weight, grads.t() @ rows
        else:
            if x_needs:
                of_x = product(grads, weight.t())
            if weight_needs:
                of_weight = transposed_product(grads, rows)
        return None if of_x is None else of_x.view_as(x), of_weight, grads.sum(dim=0) if bias_needs else None
