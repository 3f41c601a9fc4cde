"""Reading checkpoints. ``torch.load`` keeps ``weights_only=True``: a checkpoint never runs foreign code."""

import functools
import os
import pickle
import re
import zipfile

from fairseq_compat.overlay import Overlay
from fairseq_compat.registry import patch


def _loads_weights_only(module):
    import torch

    return tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2]) >= (2, 6)


def _harmless_types():
    """List what fairseq checkpoints hold beyond tensors and plain Python: option namespaces and NumPy numbers."""
    import argparse
    import collections

    import numpy as np

    # NumPy 1.26 has a stub of the name that NumPy 2 uses.
    multiarray = (np.core if np.__version__.startswith("1.") else np._core).multiarray
    dtypes = {type(np.dtype(code)) for code in "?bBhHiIlLqQefd"}
    # Files written under NumPy 1 and 2 name the same two functions differently.
    rebuilders = [
        (function, f"{package}.multiarray.{function.__name__}")
        for function in (multiarray._reconstruct, multiarray.scalar)
        for package in ("numpy.core", "numpy._core")
    ]
    return [argparse.Namespace, collections.defaultdict, np.ndarray, np.dtype, *dtypes, *rebuilders]


@patch(
    "checkpoint_types",
    "fairseq.checkpoint_utils",
    fault="resume, generate, interactive, hub: UnpicklingError: Weights only load failed ... argparse.Namespace",
    since="PyTorch 2.6",
    needed=_loads_weights_only,
)
def checkpoint_types(module):
    """Tell PyTorch that these types are safe to load."""
    module.torch.serialization.add_safe_globals(_harmless_types())


@patch(
    "broadcast_objects",
    "fairseq.distributed.utils",
    fault="resume with several processes: UnpicklingError: Weights only load failed ... omegaconf",
    since="PyTorch 2.6",
    needed=_loads_weights_only,
)
def broadcast_objects(module):
    """Let a process read any object that rank 0 of its own job sends it; no file is read here."""
    module.torch = Overlay(module.torch, load=functools.partial(module.torch.load, weights_only=False))


class CheckpointError(RuntimeError):
    """A checkpoint file that cannot be read; the message is one line with the cure."""

    one_line = True


def _explain(path, error):
    """Return why ``path`` cannot be read, or None where ``error`` says nothing about the file itself."""
    foreign = re.search(r"GLOBAL (\S+) was not an allowed global", str(error))
    if foreign:
        return (
            f"{path} holds an object of {foreign.group(1)}, which could run code when loaded; if you trust the file, "
            "allow that type with torch.serialization.add_safe_globals in your --user-dir"
        )
    # Cut off, it is no zip archive any more: depending on where, PyTorch raises any of these errors, or OSError.
    broken = isinstance(error, (EOFError, pickle.UnpicklingError)) or "PytorchStreamReader" in str(error)
    if broken or (os.path.isfile(path) and not zipfile.is_zipfile(path)):
        return (
            f"{path} is not a complete checkpoint (perhaps cut off while it was written); "
            "use another one of the same directory, or move it away to start anew"
        )
    return None


@patch(
    "checkpoint_file_errors",
    "fairseq.checkpoint_utils",
    fault="a half-written checkpoint: a traceback from PyTorch's archive reader that does not name the file",
    since="fairseq itself",
)
def checkpoint_file_errors(module):
    """Name the file and the cure."""
    stock = module.load_checkpoint_to_cpu

    @functools.wraps(stock)
    def load_checkpoint_to_cpu(path, *args, **options):
        try:
            return stock(path, *args, **options)
        except (RuntimeError, OSError, EOFError, pickle.UnpicklingError) as error:
            explanation = _explain(path, error)
            if explanation is None:
                raise
            raise CheckpointError(explanation) from error

    module.load_checkpoint_to_cpu = load_checkpoint_to_cpu
