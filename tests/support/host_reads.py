"""Counts how often Python reads numbers out of tensors, for which a GPU must be waited for."""

from collections import Counter

from torch.utils._python_dispatch import TorchDispatchMode

READS = {"_local_scalar_dense", "equal", "is_nonzero", "nonzero", "masked_select", "_unique2"}


class Reads(TorchDispatchMode):
    """Counts the operations for which the host waits."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function._schema.name.split("::")[1]
        if name in READS:
            self.counts[name] += 1
        return function(*args, **(kwargs or {}))


def reads(run):
    """How many such operations ``run()`` has, by name."""
    with Reads() as counted:
        run()
    return counted.counts
