"""The precisions of fairseq's training, named after its flags --fp16, --bf16 and --amp."""

import re
from contextlib import contextmanager, nullcontext, suppress

import torch
from fairseq.optim import FP16Optimizer
from omegaconf import OmegaConf

from fairseq_posenc.errors import InputError


def in_precision(model, precision):
    """``model`` with parameters of the type that fairseq uses: half precision for fp16 and bf16, else unchanged."""
    return {"fp16": model.half, "bf16": model.bfloat16}.get(precision, lambda: model)()


def autocasting(precision, device):
    """Autocast for "amp": to fp16 on a GPU, as fairseq does, and to bf16 on a CPU. Other precisions: do nothing."""
    if precision != "amp":
        return nullcontext()
    return torch.autocast(device, torch.float16 if device == "cuda" else torch.bfloat16)


class Updates:
    """Adam on ``parameters`` in a precision.

    fp16 and bf16 use fairseq's own optimizer, which keeps a copy of the parameters in fp32; amp on a GPU uses PyTorch's
    GradScaler.
    """

    def __init__(self, parameters, precision, device, lr=1e-4):
        parameters = list(parameters)
        self.half = None
        if precision in ("fp16", "bf16"):
            trained = [parameter for parameter in parameters if parameter.requires_grad]
            self.half = FP16Optimizer.build_optimizer(_settings(precision, lr), trained)
            self.half.zero_grad()  # it also initialises the loss scale
            return
        self.adam = torch.optim.Adam(parameters, lr=lr)
        self.scaler = torch.amp.GradScaler(device, enabled=precision == "amp" and device == "cuda")

    def __call__(self, loss):
        """Backward pass, update, and gradients reset."""
        if self.half is None:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.adam)
            self.scaler.update()
            self.adam.zero_grad()
            return
        self.half.backward(loss)
        with suppress(OverflowError):  # the loss scale was too large; fairseq skips such an update
            self.half.clip_grad_norm(0.0)
            self.half.step()
        self.half.zero_grad()


def _settings(precision, lr):
    """The configuration of fairseq's Adam in half precision: its defaults, which are also PyTorch's."""
    return OmegaConf.create(
        {
            "common": {
                "tpu": False,
                "bf16": precision == "bf16",
                "fp16_init_scale": 128,
                "fp16_scale_tolerance": 0.0,
                "threshold_loss_scale": None,
                "min_loss_scale": 1e-4,
                "model_parallel_size": 1,
            },
            "optimization": {"lr": [lr], "update_freq": [1]},
            "optimizer": {"_name": "adam", "lr": [lr]},
            "distributed_training": {"distributed_world_size": 1},
        }
    )


@contextmanager
def missing_kernels_in_one_line(precision):
    """Turn PyTorch's error about an operation without a kernel for this precision into an InputError."""
    try:
        yield
    except (RuntimeError, NotImplementedError) as error:
        match = re.search(r'"(\w+)" not implemented for \'(Half|BFloat16)\'', str(error))
        if match is None:
            raise
        raise InputError(
            f"--precision {precision}: PyTorch {torch.__version__} has no {match.group(1)} for {precision} on this "
            "device; give another --precision, or --device cuda"
        ) from None
