"""The memory of tensors that are still alive, such as activations that autograd keeps for the backward pass."""

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode


class LiveMemory(TorchDispatchMode):
    """Context manager that tracks the memory of all tensors created inside it with at least ``least`` elements.

    Unlike autograd's hooks it also sees tensors that other such hooks keep, and it works on every device.
    """

    def __init__(self, least=1):
        super().__init__()
        self.least, self._seen = least, {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(tensor, torch.Tensor) and tensor.numel() >= self.least:
                storage = tensor.untyped_storage()
                reference = StorageWeakRef(storage)
                self._seen[reference.cdata] = reference, storage.nbytes()
        return out

    def alive(self, without=()):
        """The bytes of each storage that still exists, except the storages of the tensors in ``without``."""
        excluded = {tensor.untyped_storage()._cdata for tensor in without}
        seen = self._seen.items()
        return [size for cdata, (reference, size) in seen if cdata not in excluded and not reference.expired()]
