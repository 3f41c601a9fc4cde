"""The memory of tensors that are still alive, such as what autograd keeps for a backward pass."""

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode


class LiveMemory(TorchDispatchMode):
    """While inside, follows the memory of all tensors that operations make, of ``least`` numbers or more.

    Unlike hooks of autograd it sees everything, also what other such hooks keep, and works on every device.
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
        """The bytes of each storage that is still there, but for those of the tensors ``without``."""
        left_out = {tensor.untyped_storage()._cdata for tensor in without}
        found = self._seen.items()
        return [size for cdata, (reference, size) in found if cdata not in left_out and not reference.expired()]
