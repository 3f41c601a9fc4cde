"""Pruned layers (``--encoder-layers-to-keep``): what belongs to a layer goes with it.

fairseq leaves out and renumbers the parameters under ``layers``. Encodings of single layers lie beside them.
"""

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from fairseq_posenc.encodings import encoding_class
from fairseq_posenc.encodings.options import FIRST
from fairseq_posenc.errors import InputError
from fairseq_posenc.models.options import encoding_scope


def settle_layers_to_keep(args: Namespace, side: str) -> list[int] | None:
    """Write ``--SIDE-layers-to-keep`` into ``args`` as numbers with commas between them, the form that fairseq reads.

    Returns:
        The numbers, sorted, or None where all layers are kept.

    Raises:
        InputError: not whole numbers, the same twice, or a layer that is not there.
    """
    given = getattr(args, f"{side}_layers_to_keep", None)
    if not given:
        return None
    # fairseq's own parser makes a list, of which its models then cannot be built.
    words = [str(number).strip() for number in (given if isinstance(given, list) else str(given).split(","))]
    layers = getattr(args, f"{side}_layers")
    if not all(word.isdecimal() and int(word) < layers for word in words) or len({*map(int, words)}) < len(words):
        raise InputError(
            f"--{side}-layers-to-keep {','.join(words)} must be different whole numbers from 0 to {layers - 1}, as the "
            f"{side} has {layers} layers"
        )
    kept = sorted(map(int, words))
    setattr(args, f"{side}_layers_to_keep", ",".join(map(str, kept)))
    return kept


def drop_encodings_of_pruned_layers(args: Namespace, sides: Sequence[str]) -> None:
    """A side that loses the only layer its encoding acts in has none: write that into settled ``args``."""
    for side in sides:
        kept, name = settle_layers_to_keep(args, side), getattr(args, f"{side}_position_encoding")
        if kept and kept[0] > 0 and encoding_scope(args, name) == FIRST:
            setattr(args, f"{side}_position_encoding", "none")
            if not any(getattr(args, f"{other}_position_encoding") == name for other in sides):
                for option in encoding_class(name).options().values():
                    setattr(args, option.attribute, None)


def prune_encodings(
    model: nn.Module, state_dict: dict[str, torch.Tensor], model_cfg: Any, sides: Sequence[str]
) -> None:
    """Leave out and renumber the encodings of layers in ``state_dict``, in place, as fairseq does with the layers."""
    # The model is built already, so ``model_cfg`` has the number of layers that are left.
    kept = {side: getattr(model_cfg, f"{side}_layers_to_keep", None) for side in sides}
    if not any(kept.values()):
        return
    for side, numbers in kept.items():
        stack = getattr(model, side)
        if not numbers:
            # With one side alone fairseq would drop every layer of the other one.
            setattr(model_cfg, f"{side}_layers_to_keep", ",".join(map(str, range(stack.num_layers))))
            continue
        layers = sorted(map(int, numbers.split(",")))
        first, later = f"{side}.embed_positions.", f"{side}.later_positions."
        own = {name: state_dict.pop(name) for name in list(state_dict) if name.startswith((first, later))}
        if not any(name.startswith(later) for name in own):
            # One encoding for all layers stays, that of the first layer alone goes with it.
            if layers[0] == 0 or stack.embed_positions.name != "none":
                state_dict.update(own)
            continue
        for new, old in enumerate(layers):
            was, becomes = (f"{later}{layer - 1}." if layer else first for layer in (old, new))
            for name, tensor in own.items():
                if name.startswith(was):
                    state_dict[becomes + name[len(was) :]] = tensor
