"""``--finetune-from-model``: a training may start from a checkpoint of another positional encoding.

What belongs to an encoding is left out where the model has another one, and what the checkpoint lacks starts as in a
new model. All other parameters must be the same. Any other way to load a checkpoint takes none of another encoding.
"""

import functools
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from fairseq import checkpoint_utils
from fairseq.trainer import Trainer
from torch import nn

from fairseq_posenc.errors import InputError
from fairseq_posenc.models.configuration import given_settings

logger = logging.getLogger(__name__)

#: Parameters that a positional encoding, or ``--attention-scale``, has in a model.
OF_ENCODING = re.compile(r"(encoder|decoder)\.(embed_positions|later_positions)\..*|.*\.self_attn\.learned_scale")


@dataclass(frozen=True)
class Origin:
    """The checkpoint that a training starts from.

    Args:
        path: of the file.
        encodings: {side: name of its encoding}; no name for models of stock fairseq.
    """

    path: str
    encodings: dict[str, str]

    @classmethod
    def of(cls, path: str) -> "Origin":
        """The same, from the settings in the file."""
        state = checkpoint_utils.load_checkpoint_to_cpu(path)
        settings = given_settings(state["cfg"]["model"] if state.get("cfg") else state.get("args"))
        names = {side: getattr(settings, f"{side}_position_encoding", None) for side in ("encoder", "decoder")}
        return cls(path, {side: name for side, name in names.items() if name})


def load(model: Any, state_dict: dict[str, torch.Tensor], sides: Sequence[str], stock: Callable[[], Any]) -> Any:
    """What ``stock()`` returns, which loads ``state_dict``, after what ``model.origin`` may leave out is left out.

    Raises:
        InputError: the parameters are not those of the model.
    """
    if model.origin is not None:
        _adapt(model, state_dict, sides, model.origin)
    try:
        return stock()
    except RuntimeError as error:
        if (told := _difference(model, state_dict, model.origin)) is None:
            raise
        raise InputError(told) from error


def _adapt(model: Any, state_dict: dict[str, torch.Tensor], sides: Sequence[str], origin: Origin) -> None:
    """Give ``state_dict``, in place, the model's own parameters of an encoding where the checkpoint's do not fit."""
    model.upgrade_state_dict(state_dict)
    own, changed, left_out, new = model.state_dict(), {}, [], []
    for side in sides:
        was, becomes = origin.encodings.get(side), getattr(model, side).embed_positions.name
        if was != becomes:
            changed[side] = f"{side} {was or 'of stock fairseq'} -> {becomes}"
    for name in filter(OF_ENCODING.fullmatch, list(state_dict)):
        side, part, *_ = name.split(".")
        other = part != "layers" and side in changed and side in origin.encodings
        if other or name not in own or own[name].shape != state_dict[name].shape:
            left_out.append(name)
            del state_dict[name]
    for name in filter(OF_ENCODING.fullmatch, own):
        if name not in state_dict:
            new.append(name)
            state_dict[name] = own[name]
    if left_out or new or any(side in origin.encodings for side in changed):
        logger.info(
            f"{origin.path} has another positional encoding ({', '.join(changed.values()) or 'other options'}); left "
            f"out: {_modules(left_out)}; new: {_modules(new)}; all other parameters are those of the checkpoint"
        )


def _modules(names: Iterable[str]) -> str:
    """What these parameters are part of: those of all layers are one."""
    parts = (re.sub(r"(later_positions|layers)\..*", r"\1", name.rpartition(".")[0]) for name in names)
    return ", ".join(dict.fromkeys(parts)) or "nothing"


def _difference(model: nn.Module, state_dict: dict[str, torch.Tensor], origin: Origin | None) -> str | None:
    """One line on why these parameters are not those of the model; None where they are."""
    own = model.state_dict()
    lacking = [name for name in own if name not in state_dict]
    more = [name for name in state_dict if name not in own]
    other = [name for name in own if name in state_dict and own[name].shape != state_dict[name].shape]
    told = [
        f"{what} {len(names)} parameters ({names[0]}{', ..' * (len(names) > 1)})"
        for what, names in (("lacks", lacking), ("has", more), ("has another shape of", other))
        if names
    ]
    if not told:
        return None
    cure = "use a model of the same layers and dimensions"
    if origin is None:
        cure = "use the settings and the dictionary of its training; --finetune-from-model takes another encoding"
    place = "the checkpoint" if origin is None else f"--finetune-from-model {origin.path}"
    return f"{place} is of another model: it {', '.join(told)}; {cure}"


_stock_load_checkpoint = Trainer.load_checkpoint


@functools.wraps(_stock_load_checkpoint)
def load_checkpoint(self: Trainer, filename: str, *arguments: Any, **options: Any) -> Any:
    model = self.get_model()
    starts = filename == self.cfg.checkpoint.finetune_from_model and hasattr(model, "origin")
    if not starts:
        return _stock_load_checkpoint(self, filename, *arguments, **options)
    model.origin = Origin.of(filename)
    try:
        return _stock_load_checkpoint(self, filename, *arguments, **options)
    finally:
        model.origin = None


Trainer.load_checkpoint = load_checkpoint
