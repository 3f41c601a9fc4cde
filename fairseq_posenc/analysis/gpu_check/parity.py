"""Outputs and gradients on the device in every precision, compared with fp32 on the CPU."""

import copy
import math

import torch
from torch.nn import functional as F

from fairseq_posenc.analysis.gpu_check.cases import PADDING, batch, build, cases, moved
from fairseq_posenc.analysis.precision import autocasting, in_precision
from fairseq_posenc.encodings.base import PositionEncoding

TITLE = "parity: relative errors of outputs and gradients, compared with fp32 on the CPU"
#: The largest relative errors of outputs and of gradients, both in the 2-norm.
TOLERANCES = {"fp32": (1e-4, 5e-4), "fp16": (1e-2, 5e-2), "bf16": (1e-1, 5e-1), "amp": (1e-2, 5e-2)}
#: The error of an encoding's gradients is relative to at least this share of the norm of all gradients.
SMALL = 1e-3
#: Factor of the loss, so that no gradient is too small for fp16.
SCALE = 1024


def rows(sizes, systems, families):
    for system, family in cases(sizes, systems, families):
        model, (inputs, target) = build(sizes, system, family), batch(sizes, family)
        expected = outputs_and_gradients(model, inputs, target, "fp32", "cpu")
        row = {"system": system, "family": family, "errors": {}, "agrees": True}
        for precision, largest in TOLERANCES.items():
            if precision == "amp" and sizes.device == "cpu":
                largest = TOLERANCES["bf16"]  # autocast uses bf16 there
            actual = outputs_and_gradients(model, inputs, target, precision, sizes.device)
            errors = relative_errors(actual, expected)
            row["errors"][precision] = [error if math.isfinite(error) else None for error in errors]
            row["agrees"] &= all(error <= most for error, most in zip(errors, largest))
        yield row


def relative_errors(actual, expected):
    """(error of the outputs, the larger error of all gradients and of the encoding's gradients).

    Gradients of the encoding that are tiny, for example because they cancel out, are compared with all gradients.
    """
    output, all_gradients, encoding = ((x - y).norm() for x, y in zip(actual, expected))
    output_norm, all_norm, encoding_norm = (y.norm() for y in expected)
    encoding_error = encoding / torch.maximum(encoding_norm, SMALL * all_norm)
    return float(output / output_norm), float(torch.maximum(all_gradients / all_norm, encoding_error))


def outputs_and_gradients(model, inputs, target, precision, device):
    """Logits, all gradients and the encodings' gradients of a copy of ``model`` on ``device``, as fp64 on the CPU."""
    model, target = in_precision(copy.deepcopy(model), precision).to(device), target.to(device)
    with autocasting(precision, device):
        logits = model(*moved(inputs, device))[0].float()
    loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PADDING)
    (SCALE * loss).backward()
    encodings = [module for module in model.modules() if isinstance(module, PositionEncoding)]
    of_encodings = [parameter for encoding in encodings for parameter in encoding.parameters()]
    return tuple(vector(tensors) for tensors in ([logits], gradients(model.parameters()), gradients(of_encodings)))


def gradients(parameters):
    """The gradients of the parameters; zeros for a parameter without one."""
    return [torch.zeros_like(x) if x.grad is None else x.grad for x in parameters]


def vector(tensors):
    return torch.cat([torch.zeros(0), *(x.detach().double().cpu().flatten() for x in tensors)])


def line(row):
    text = "".join(
        f"  {precision} " + " ".join("  NaN  " if error is None else f"{error:.1e}" for error in errors)
        for precision, errors in row["errors"].items()
    )
    return f"{row['system']:<18} {row['family']:<14}{text}{'' if row['agrees'] else '  DIFFERS'}"
