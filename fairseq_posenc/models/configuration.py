"""The settings of the models as dataclasses: the flags of the command line as fields of a configuration.

``fairseq-hydra-train`` reads them from YAML; fairseq's other commands fill them from flags.
"""

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Optional, get_type_hints

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from omegaconf import II, OmegaConf, open_dict


class Configuration(FairseqDataclass):
    """What the configurations of our models have in common."""

    @classmethod
    def from_namespace(cls, args: argparse.Namespace) -> argparse.Namespace:
        """The settings in a checkpoint of version 0.1, as they are."""
        return args


def configuration(
    name: str, add_flags: Callable[[argparse.ArgumentParser], None], of_task: Sequence[str]
) -> type[Configuration]:
    """A dataclass with one field for each flag: ``posnet_dim`` for ``--posnet-dim``.

    A field is None where nothing sets it. Then the architecture that ``_name`` may be sets it, or the model does, as
    the field's help says: the same as for a flag that is not given.

    Args:
        name: of the model.
        add_flags: adds the flags to a parser.
        of_task: fields whose values are those of the task where they are not set.
    """
    parser = argparse.ArgumentParser(add_help=False)
    add_flags(parser)
    fields: dict[str, tuple[Any, Any, str | None]]
    fields = {action.dest: (_type(action), None, action.help) for action in parser._actions}
    fields |= {field: (Any, II(f"task.{field}"), "default: that of the task") for field in of_task}
    # fairseq compares it with 0 before a model is built.
    fields["base_layers"] = (int, 0, fields["base_layers"][-1])
    return dataclasses.make_dataclass(
        f"{name}_configuration",
        [
            (field, kind, dataclasses.field(default=default, metadata={"help": text}))
            for field, (kind, default, text) in fields.items()
        ],
        bases=(Configuration,),
    )


def _type(action: argparse.Action) -> Any:
    """The type of a flag's values."""
    if action.nargs == 0:
        kind: Any = bool
    elif action.choices:
        kind = ChoiceEnum(list(action.choices))
    elif action.type is None or isinstance(action.type, type):
        kind = action.type or Any
    else:
        # fairseq's own converters of lists do not say what they return.
        kind = get_type_hints(action.type).get("return", Any)
    return Optional[kind]


def given_settings(args: Any) -> argparse.Namespace:
    """The settings as a Namespace, of a configuration without those that are None.

    They are a Namespace already in checkpoints of version 0.1, and a dictionary in those that fairseq has not
    read.
    """
    if isinstance(args, argparse.Namespace):
        return args
    settings = args if isinstance(args, dict) else OmegaConf.to_container(args, resolve=True, enum_to_str=True)
    return argparse.Namespace(**{name: value for name, value in settings.items() if value is not None})


def record_settings(config: Any, settings: argparse.Namespace) -> None:
    """Write ``settings``, made by ``given_settings``, into the configuration that they come from."""
    if config is settings:
        return
    # fairseq builds models from a copy of the configuration that checkpoints hold.
    parent = config._get_parent()
    for target in (config, *([] if parent is None else [parent.model])):
        with open_dict(target):
            for name, value in vars(settings).items():
                # fairseq's architectures set False in this field of numbers.
                target[name] = int(value) if name == "base_shuffle" else value
