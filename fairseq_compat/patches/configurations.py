"""``fairseq-hydra-train``: plugins, and configurations that fit no model, task or criterion."""

import argparse
import dataclasses
import difflib
import functools
import sys

from fairseq_compat.registry import patch


class ConfigurationError(ValueError):
    """A field that does not exist, or a value that it does not take; the message is one line with the cure."""

    one_line = True


def _explain(error):
    """One line for an error of omegaconf."""
    section = getattr(error.object_type, "__name__", "configuration")
    if isinstance(error, KeyError):
        fields = [field.name for field in dataclasses.fields(error.object_type)]
        near = difflib.get_close_matches(str(error.key), fields, n=1)
        cure = f"did you mean {near[0]}?" if near else "correct the name, or leave it out"
        return f"{section} has no field {error.key}; {cure}"
    return f"{error.key}: {str(error).splitlines()[0]} ({section}); correct the value"


@patch(
    "hydra_user_dir",
    "fairseq_cli.hydra_train",
    fault="common.user_dir: fields that a plugin's model does not have: a traceback; model=NAME of a plugin: not found",
    since="fairseq itself",
)
def hydra_user_dir(module):
    """Import the plugin before its configurations are looked up: one on the command line before hydra starts."""
    from fairseq import utils
    from omegaconf.errors import ConfigKeyError, ValidationError

    stock, add_defaults = module.cli_main, module.add_defaults

    @functools.wraps(stock)
    def cli_main():
        for word in sys.argv[1:]:
            name, _, value = word.lstrip("+").partition("=")
            if name == "common.user_dir":
                utils.import_user_module(argparse.Namespace(user_dir=value))
        return stock()

    @functools.wraps(add_defaults)
    def add_all_defaults(cfg):
        utils.import_user_module(cfg.common)
        try:
            add_defaults(cfg)
        except (ConfigKeyError, ValidationError) as error:
            raise ConfigurationError(_explain(error)) from error

    module.cli_main, module.add_defaults = cli_main, add_all_defaults
