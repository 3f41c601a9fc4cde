"""Average checkpoints of one training run into a checkpoint for fairseq-generate.

Options have the names of fairseq's own script. Training cannot continue from the average: it has no optimizer state.
"""

import os
from pathlib import Path

from fairseq_posenc.cli.trust import add_trust_argument
from fairseq_posenc.errors import InputError
from fairseq_posenc.outputs import check_output


def add_arguments(parser):
    parser.add_argument(
        "--inputs", nargs="+", required=True, metavar="PATH", help="checkpoint files, or the --save-dir of one run"
    )
    parser.add_argument("--output", required=True, metavar="FILE", help="file for the averaged checkpoint")
    add_trust_argument(parser)
    number = parser.add_mutually_exclusive_group()
    number.add_argument(
        "--num-epoch-checkpoints", type=int, metavar="N", help="average the last N epochs in the folder"
    )
    number.add_argument(
        "--num-update-checkpoints",
        type=int,
        metavar="N",
        help="average the last N checkpoints of --save-interval-updates in the folder",
    )
    parser.add_argument(
        "--checkpoint-upper-bound",
        type=int,
        metavar="N",
        help="with either of these: ignore checkpoints after this epoch or update",
    )


def run(args):
    output = Path(args.output)
    check_output(f"--output {output}", output, f"{output.name}.partial")
    by_number = args.num_epoch_checkpoints is not None or args.num_update_checkpoints is not None
    if by_number and not (len(args.inputs) == 1 and Path(args.inputs[0]).is_dir()):
        raise InputError(f"--inputs {' '.join(args.inputs)}: --num-*-checkpoints takes one folder; name the --save-dir")
    if args.checkpoint_upper_bound is not None and not by_number:
        raise InputError("--checkpoint-upper-bound goes with --num-epoch-checkpoints or --num-update-checkpoints")
    # fairseq takes seconds to import: only after the arguments have been checked.
    import torch

    from fairseq_posenc.averaging import EPOCH_FILE, UPDATE_FILE, average_checkpoints, last_checkpoints

    paths = args.inputs
    if by_number:
        pattern = UPDATE_FILE if args.num_epoch_checkpoints is None else EPOCH_FILE
        count = args.num_epoch_checkpoints or args.num_update_checkpoints or 0
        paths = last_checkpoints(args.inputs[0], pattern, count, args.checkpoint_upper_bound)
    average = average_checkpoints(paths)
    partial = output.with_name(output.name + ".partial")
    try:
        # Given a path, PyTorch reports a full disk in many lines and leaves a partial file behind.
        with open(partial, "wb") as file:
            torch.save(average, file)
        os.replace(partial, output)
    except (OSError, RuntimeError) as error:
        partial.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or str(error).split("\n")[0]
        raise InputError(f"cannot write --output {output}: {reason}; free some space or choose another place") from None
    print(f"{output}: the average of {', '.join(str(path) for path in paths)}")
