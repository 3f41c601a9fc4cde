"""``fairseq-hydra-train``: plugins, and configurations that fit no model, task or criterion."""

import argparse
import dataclasses
import difflib
import functools
import os
import sys

from fairseq_compat.registry import patch


class ConfigurationError(ValueError):
    """A field that does not exist, or a value that it does not take; the message is one line with the cure."""

    one_line = True


def _explain(error):
    """One line for an error of omegaconf, or of hydra with such a cause."""
    from omegaconf.errors import OmegaConfBaseException

    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    kind = getattr(cause, "object_type", None)
    if not dataclasses.is_dataclass(kind):
        # The first paragraph of hydra's message, without details.
        lines = str(error).strip().split("\n\n")[0].splitlines()
        return "; ".join(line.rstrip(".") for line in lines if not line[:1].isspace())
    fields = [field.name for field in dataclasses.fields(kind)]
    if cause.key in fields:
        return f"{cause.key}: {str(cause).splitlines()[0]} ({kind.__name__}); correct the value"
    near = difflib.get_close_matches(str(cause.key), fields, n=1)
    cure = f"did you mean {near[0]}?" if near else "correct the name, or leave it out"
    return f"{kind.__name__} has no field {cause.key}; {cure}"


@patch(
    "hydra_user_dir",
    "fairseq_cli.hydra_train",
    fault="common.user_dir: fields that a plugin's model does not have: a traceback; model=NAME of a plugin: not found",
    since="fairseq itself",
)
def hydra_user_dir(module):
    """Import the plugin before its configurations are looked up: one on the command line before hydra starts."""
    from fairseq import utils
    from hydra.errors import HydraException
    from omegaconf.errors import ConfigKeyError, ValidationError

    stock, add_defaults = module.cli_main, module.add_defaults

    @functools.wraps(stock)
    def cli_main():
        for word in sys.argv[1:]:
            name, _, value = word.lstrip("+").partition("=")
            if name == "common.user_dir":
                utils.import_user_module(argparse.Namespace(user_dir=value))
        # Otherwise hydra prints its errors itself, in many lines.
        os.environ.setdefault("HYDRA_FULL_ERROR", "1")
        try:
            return stock()
        except HydraException as error:
            raise ConfigurationError(_explain(error)) from error

    @functools.wraps(add_defaults)
    def add_all_defaults(cfg):
        utils.import_user_module(cfg.common)
        try:
            add_defaults(cfg)
        except (ConfigKeyError, ValidationError) as error:
            raise ConfigurationError(_explain(error)) from error

    module.cli_main, module.add_defaults = cli_main, add_all_defaults
