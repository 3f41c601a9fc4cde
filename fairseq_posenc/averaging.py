"""Averaging checkpoints, for which fairseq's released package has no command."""

import re
import zipfile
from pathlib import Path

import torch
from fairseq import checkpoint_utils  # noqa: F401 (tells PyTorch which types of a checkpoint are safe to load)
from tqdm import tqdm

from fairseq_compat.patches.checkpoints import explain_file
from fairseq_posenc.errors import InputError
from fairseq_posenc.models.checks import check_finite

#: File names that fairseq-train gives to checkpoints of epochs and of ``--save-interval-updates``.
EPOCH_FILE = re.compile(r"checkpoint(\d+)\.pt")
UPDATE_FILE = re.compile(r"checkpoint_\d+_(\d+)\.pt")


def last_checkpoints(folder, pattern, count, upper_bound=None):
    """The paths of the last ``count`` checkpoints in a folder, oldest first.

    Args:
        pattern: EPOCH_FILE or UPDATE_FILE.
        upper_bound: last epoch or update to use; default: no bound.

    Raises:
        InputError: there are fewer than ``count``.
    """
    if count < 1:
        raise InputError(f"the number of checkpoints must be at least 1, but is {count}")
    matches = [(pattern.fullmatch(path.name), path) for path in Path(folder).glob("*.pt")]
    numbered = sorted((int(match.group(1)), path) for match, path in matches if match)
    paths = [path for number, path in numbered if upper_bound is None or number <= upper_bound]
    if len(paths) < count:
        raise InputError(
            f"{folder} has only {len(paths)} of the requested {count} checkpoints like {pattern.pattern}; "
            "ask for fewer, or train with --save-interval-updates or without --no-epoch-checkpoints"
        )
    return paths[-count:]


def average_checkpoints(paths):
    """A checkpoint with the mean of the models in ``paths``; the rest is from the last one, without optimizer state.

    Means are computed in float64 and rounded once. Tensors that are tied in the last checkpoint stay tied.

    Raises:
        InputError: a file cannot be read, a parameter is not finite, or the models differ in their parameters.
    """
    sums = {}
    for number, path in enumerate(tqdm(paths, desc="average", unit="checkpoint", disable=None)):
        state = read_checkpoint(path)
        try:
            check_finite(state["model"])
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        shapes = {name: tensor.shape for name, tensor in state["model"].items()}
        if number and shapes != {name: tensor.shape for name, tensor in sums.items()}:
            raise InputError(f"{path} has other parameters than {paths[0]}; average checkpoints of one training run")
        for name, tensor in state["model"].items():
            sums[name] = sums[name] + tensor.double() if number else tensor.double()
    means, tied = {}, {}
    for name, tensor in state["model"].items():
        place = (tensor.data_ptr(), tensor.shape, tensor.stride())
        if place not in tied or not tensor.numel():
            tied[place] = (sums[name] / len(paths)).to(tensor.dtype)
        means[name] = tied[place]
    return {**state, "model": means, "last_optimizer_state": None}


def read_checkpoint(path):
    """The content of a checkpoint file. Raises InputError if it is missing, truncated or not a checkpoint."""
    try:
        state = torch.load(path, map_location="cpu")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; correct the path") from None
    except Exception as error:  # other kinds of files may raise any exception
        if zipfile.is_zipfile(path) and (told := explain_file(path, error)):
            raise InputError(told) from error
        reason = (str(error) or type(error).__name__).split("\n")[0][:100]
        raise InputError(f"{path} cannot be read as a checkpoint ({reason}); leave it out") from error
    parameters = state.get("model") if isinstance(state, dict) else None
    if not isinstance(parameters, dict) or not parameters or not all(map(_is_parameter, parameters.values())):
        raise InputError(f"{path} is not a fairseq checkpoint: it holds no model; leave it out")
    return state


def _is_parameter(value):
    return isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_complex()
