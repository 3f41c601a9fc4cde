"""``--trust-checkpoint``: checkpoints that hold more than parameters and plain settings."""

import os

#: PyTorch's own switch, which it reads at every load.
VARIABLE = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
FLAG = "--trust-checkpoint"


def add_trust_argument(parser):
    parser.add_argument(
        FLAG,
        action="store_true",
        help="load checkpoints as they are, which runs the code that is in them: only for files that you trust",
    )


def apply_trust(args):
    """Let PyTorch load everything in this process, if the command has the flag and it is given."""
    if getattr(args, "trust_checkpoint", False):
        os.environ[VARIABLE] = "1"


def in_flags(message):
    """An error of fairseq_compat about a checkpoint, with the flag in the place of the variable."""
    return message.replace(f"set {VARIABLE}=1", f"give {FLAG}")
