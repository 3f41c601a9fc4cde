"""Print how many subwords a sentence may have for a checkpoint, including the end-of-sentence symbol."""

import argparse
import logging
from pathlib import Path

from examples.common.command_line import run_main
from fairseq_posenc.errors import InputError


def longest_sentence(checkpoint, data):
    """The smallest limit on the source and the target, in the model and in its task."""
    from fairseq import checkpoint_utils
    from fairseq.utils import import_user_module

    import_user_module(argparse.Namespace(user_dir="fairseq_posenc"))
    (model,), _, task = checkpoint_utils.load_model_ensemble_and_task([str(checkpoint)], {"data": str(data)})
    return min(*model.max_positions(), *task.max_positions())


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("data", type=Path, help="folder with the dictionaries")
    args = parser.parse_args(argv)
    if not args.checkpoint.is_file():
        raise InputError(f"{args.checkpoint}: no such file; create it with generate.sh")
    logging.disable(logging.WARNING)
    print(longest_sentence(args.checkpoint, args.data))


if __name__ == "__main__":
    run_main(main)
