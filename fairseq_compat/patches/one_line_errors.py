"""One-line errors of the commands, around all that other patches do to them."""

import functools
import os
import sys

from fairseq_compat.registry import patch

_COMMANDS = ("train", "generate", "interactive", "eval_lm", "validate", "preprocess", "score", "hydra_train")


@patch(
    "one_line_errors",
    *(f"fairseq_cli.{command}" for command in _COMMANDS),
    fault="a missing file, a broken checkpoint or the wrong dictionary: a traceback instead of one line with the cure",
    since="fairseq itself",
)
def one_line_errors(module):
    """Print user errors known to ``fairseq_compat.user_errors`` as one line, and exit with status 2."""
    from fairseq_compat.user_errors import explain

    command = module.__name__.rpartition(".")[2]

    def explaining(stock):
        @functools.wraps(stock)
        def run(*args, **options):
            try:
                return stock(*args, **options)
            except Exception as error:
                line = explain(error)
                if line is None or os.environ.get("FAIRSEQ_COMPAT_TRACEBACK") == "1":
                    raise
            print(f"fairseq-{command.replace('_', '-')}: error: {line}", file=sys.stderr, flush=True)
            sys.exit(2)

        return run

    module.cli_main = explaining(module.cli_main)
    if command == "hydra_train":
        # hydra prints tracebacks itself, so the errors of its job must be caught inside.
        module._hydra_main = explaining(module._hydra_main)
