"""Reading and writing checkpoints. ``torch.load`` keeps ``weights_only=True``: loading a file runs no code from it."""

import functools
import os
import pickle
import re
import zipfile

from fairseq_compat.harmless_types import fairseq_types, omegaconf_types, plain_types
from fairseq_compat.overlay import Overlay
from fairseq_compat.registry import patch


@patch(
    "checkpoint_types",
    "fairseq.checkpoint_utils",
    fault="resume, generate, interactive, hub: UnpicklingError: Weights only load failed ... argparse.Namespace",
    since="PyTorch 2.6",
)
def checkpoint_types(module):
    """Tell PyTorch which types are safe to load."""
    torch = module.torch
    torch.serialization.add_safe_globals(plain_types() + omegaconf_types())

    @functools.wraps(torch.load)
    def load(*args, **options):
        # Not earlier, because this module is imported before most of fairseq.
        torch.serialization.add_safe_globals(fairseq_types())
        return torch.load(*args, **options)

    module.torch = Overlay(torch, load=load)


@patch(
    "broadcast_objects",
    "fairseq.distributed.utils",
    fault="several processes, where rank 0 sends objects of other types: UnpicklingError: Weights only load failed",
    since="PyTorch 2.6",
)
def broadcast_objects(module):
    """Let a process read any object from rank 0 of its own job; this reads no files."""
    module.torch = Overlay(module.torch, load=functools.partial(module.torch.load, weights_only=False))


class CheckpointError(RuntimeError):
    """A checkpoint file that cannot be read; the message is one line with the cure."""

    one_line = True


def explain_file(path, error):
    """Return why ``path`` cannot be read, or None if ``error`` is not about the file itself."""
    foreign = re.search(r"GLOBAL (\S+) was not an allowed global", str(error))
    if foreign:
        name = foreign.group(1) if "." in foreign.group(1) else f"builtins.{foreign.group(1)}"
        return (
            f"{path} contains an object of {name}, which could run code when loaded; if you trust the file, set "
            "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1, or import that type alone in the __init__.py of your --user-dir, and "
            "allow it there under its name in the file: "
            f"torch.serialization.add_safe_globals([({name.rpartition('.')[2]}, {name!r})])"
        )
    blocked = re.search(r"GLOBAL (\S+) whose module \S+ is blocked", str(error))
    if blocked:
        return f"{path} calls {blocked.group(1)}, which PyTorch never allows in a checkpoint; do not trust the file"
    if isinstance(error, pickle.UnpicklingError) and zipfile.is_zipfile(path):
        # PyTorch 2.6 writes the reason in its first paragraph, later versions in one of its own.
        found = re.search(r"WeightsUnpickler error: (.+)", str(error))
        reason = found[1] if found else (str(error).split("\n\n")[1:] or [str(error)])[0].splitlines()[0]
        return f"{path} is refused by PyTorch, which loads only harmless objects: {reason}"
    # A truncated file is not a zip archive; PyTorch raises one of these errors or OSError, depending on its length.
    broken = isinstance(error, (EOFError, pickle.UnpicklingError)) or "PytorchStreamReader" in str(error)
    if broken or (os.path.isfile(path) and not zipfile.is_zipfile(path)):
        return (
            f"{path} is not a complete checkpoint (writing it may have been interrupted); "
            "use another checkpoint of the same directory, or move the file away to start from scratch"
        )
    return None


@patch(
    "checkpoint_file_errors",
    "fairseq.checkpoint_utils",
    fault="a half-written checkpoint: a traceback from PyTorch's archive reader that does not name the file",
    since="fairseq itself",
)
def checkpoint_file_errors(module):
    """Name the file and the cure in the error."""
    stock = module.load_checkpoint_to_cpu

    @functools.wraps(stock)
    def load_checkpoint_to_cpu(path, *args, **options):
        try:
            return stock(path, *args, **options)
        except (RuntimeError, OSError, EOFError, pickle.UnpicklingError) as error:
            explanation = explain_file(path, error)
            if explanation is None:
                raise
            raise CheckpointError(explanation) from error

    module.load_checkpoint_to_cpu = load_checkpoint_to_cpu


@patch(
    "tied_parameters_once",
    "fairseq.utils",
    fault="training on a GPU or in half precision: a checkpoint holds shared embeddings once for each of their names",
    since="fairseq itself",
)
def tied_parameters_once(module):
    """Copy a tensor to the CPU once, so that names that share it still do; a file then holds it once."""
    stock = module.move_to_cpu

    @functools.wraps(stock)
    def move_to_cpu(sample):
        copies = {}

        def copy(tensor):
            if tensor.layout != module.torch.strided:  # a sparse tensor has no address of its own
                return stock([tensor])[0]
            place = (tensor.device, tensor.dtype, tensor.data_ptr(), tensor.shape, tensor.stride())
            if place not in copies:
                (copies[place],) = stock([tensor])
            return copies[place]

        return module.apply_to_sample(copy, sample)

    module.move_to_cpu = move_to_cpu
