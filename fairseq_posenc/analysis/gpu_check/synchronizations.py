"""How often the host waits for the device: in the forward pass of training, and in a decoding step."""

import warnings
from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_posenc.analysis.gpu_check.cases import batch, build, cases, moved

TITLE = "syncs: host synchronisations per forward pass and per decoding step, in fp16"
STEPS = 6
READS = {"_local_scalar_dense", "equal", "masked_select", "nonzero", "_unique2"}


def rows(sizes, systems, families):
    for system, family in cases(sizes, systems, families):
        model, (inputs, _) = build(sizes, system, family).half().to(sizes.device), batch(sizes, family)
        inputs = moved(inputs, sizes.device)
        model(*inputs)  # the first pass builds tables
        with counting(sizes.device) as forward:
            model(*inputs)
        step = decoding_step(model.eval(), inputs, sizes.device)
        yield {"system": system, "family": family, "forward": len(forward), "step": len(step)}


def decoding_step(model, inputs, device):
    """The synchronisations of the last of STEPS decoding steps, with a cache."""
    state, options = {}, {}
    with torch.no_grad():
        if hasattr(model, "encoder"):
            options["encoder_out"] = model.encoder(*inputs[:2])
        for length in range(1, STEPS + 1):
            with counting(device) as synchronizations:
                model.decoder(inputs[-1][:, :length], incremental_state=state, **options)
    return synchronizations


@contextmanager
def counting(device):
    """Context manager that collects synchronisations; on a CPU, the operations that would synchronise on a GPU."""
    if device == "cpu":
        with Reads() as reads:
            yield reads.operations
        return
    synchronizations = []
    mode = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield synchronizations
        finally:
            torch.cuda.set_sync_debug_mode(mode)
            synchronizations += [one for one in caught if "synchronizing CUDA operation" in str(one.message)]


class Reads(TorchDispatchMode):
    """Collects the operations whose results the host must wait for."""

    def __init__(self):
        super().__init__()
        self.operations = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.overloadpacket.__name__ in READS:
            self.operations.append(function)
        return function(*args, **(kwargs or {}))


def line(row):
    return f"{row['system']:<18} {row['family']:<14}  forward {row['forward']:>3}  step {row['step']:>3}"
