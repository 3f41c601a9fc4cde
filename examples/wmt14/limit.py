"""Print how many subwords a sentence may have for a system, including the end-of-sentence symbol."""

import argparse
import logging

from examples.common.command_line import run_main


def longest_sentence(data, options):
    """The smallest limit on the source and the target, in the model and in its task.

    Args:
        data: folder with the dictionaries.
        options: of fairseq-train, as a list of arguments.
    """
    from fairseq import tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.options import get_training_parser, parse_args_and_arch

    settings = parse_args_and_arch(get_training_parser(), [data, "--user-dir", "fairseq_posenc", *options])
    settings = convert_namespace_to_omegaconf(settings)
    task = tasks.setup_task(settings.task)
    return min(*task.build_model(settings.model).max_positions(), *task.max_positions())


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="folder with the dictionaries")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="of fairseq-train")
    args = parser.parse_args(argv)
    logging.disable(logging.WARNING)
    print(longest_sentence(args.data, args.options))


if __name__ == "__main__":
    run_main(main)
