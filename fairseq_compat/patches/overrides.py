"""``--model-overrides`` with another architecture."""

import difflib
import functools

from fairseq_compat.registry import patch


class ArchitectureError(ValueError):
    """An architecture in --model-overrides that is not registered; the message is one line with the cure."""

    one_line = True


def _known(name):
    """``name``, if it is a registered architecture. Raises ArchitectureError."""
    from fairseq.models import ARCH_MODEL_REGISTRY

    if name not in ARCH_MODEL_REGISTRY:
        near = difflib.get_close_matches(str(name), ARCH_MODEL_REGISTRY, n=1, cutoff=0.5)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise ArchitectureError(
            f"--model-overrides: unknown architecture {name!r}{hint}; a plugin's architectures need its --user-dir"
        )
    return name


def _rename(model, name):
    from argparse import Namespace

    from omegaconf import open_dict

    if isinstance(model, Namespace):
        model._name = name
    else:
        with open_dict(model):
            model._name = name


def _add(model, settings):
    """Add the settings of flags that are newer than the checkpoint; fairseq changes only those that it has."""
    from omegaconf import open_dict

    with open_dict(model):
        model.update(settings)


@patch(
    "architecture_override",
    "fairseq.checkpoint_utils",
    fault="--model-overrides {'arch': NAME}: ignored; with '_name' too: Could not infer task type",
    since="fairseq 0.10, with its configuration files",
)
def architecture_override(module):
    """Build the architecture ``arch`` with all its settings, and keep the names of task, criterion and other parts."""
    from omegaconf import OmegaConf

    from fairseq_compat.settings import flags

    stock = module.overwrite_args_by_name

    @functools.wraps(stock)
    def overwrite_args_by_name(cfg, overrides):
        # Without this patch, users had to write "_name", because "arch" was ignored.
        name = overrides.get("arch") or overrides.get("_name")
        stock(cfg, {key: value for key, value in overrides.items() if key != "_name"})
        model = cfg.get("model")
        if name is not None and model is not None:
            _rename(model, _known(name))
        if OmegaConf.is_config(model):
            _add(model, {key: overrides[key] for key in overrides if key not in model and key in flags(cfg, overrides)})

    module.overwrite_args_by_name = overwrite_args_by_name
