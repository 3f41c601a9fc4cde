"""The options shared by the commands that run trained language models on a text."""

import logging

from fairseq_posenc.attention.patterns import FORMS, pattern_list
from fairseq_posenc.cli.lists import numbers
from fairseq_posenc.cli.trust import add_trust_argument
from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import check_json_target


def add_model_arguments(parser, lengths, required=True):
    """Add DATA, --path and the options for reading models and text; ``lengths`` is the help of --lengths.

    Unless ``required``, DATA, --path and --lengths may be missing (see check_model_arguments).
    """
    parser.add_argument(
        "data", metavar="DATA", nargs=None if required else "?", help="folder written by fairseq-preprocess"
    )
    parser.add_argument("--path", nargs="+", action="extend", required=required, metavar="CKPT", help="checkpoints")
    parser.add_argument(
        "--names",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="name of each checkpoint's system; equal names are seeds of one system (default: names of the folders)",
    )
    parser.add_argument("--lengths", type=numbers, required=required, metavar="N,N", help=lengths)
    parser.add_argument(
        "--patterns",
        type=pattern_list,
        default=["trained"],
        metavar="P,P",
        help=f'attention patterns: {FORMS}, or "trained" for the pattern of the checkpoint (default: trained)',
    )
    parser.add_argument("--subset", default="test", metavar="SPLIT", help="split of the data (default: %(default)s)")
    parser.add_argument("--tokens", type=int, metavar="N", help="use the first N tokens of the text (default: all)")
    parser.add_argument(
        "--model-overrides", default="{}", metavar="DICT", help="as in fairseq-eval-lm; applies to every checkpoint"
    )
    parser.add_argument("--precision", choices=("fp32", "fp16", "bf16"), default="fp32", help="(default: fp32)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    add_trust_argument(parser)
    parser.add_argument("--json", required=True, metavar="OUT", help="file for the results")


def check_positive(args, *options):
    """Raise InputError if one of these options is below 1, or --json cannot be written."""
    for name in options:
        value = getattr(args, name)
        if value is not None and value < 1:
            raise InputError(f"--{name.replace('_', '-')} must be at least 1, but is {value}")
    check_json_target(args.json)


def check_model_arguments(args, closed_form, of_models):
    """Raise InputError for missing options of a model and its text, or for options that do not go together.

    --closed-form takes neither a model nor a text; ``closed_form`` names the options that need it, and ``of_models``
    those that it does not take.
    """
    inputs = {"DATA": args.data, "--path": args.path}
    if args.closed_form:
        surplus = next((name for name, value in {**inputs, "--names": args.names}.items() if value is not None), None)
        if surplus:
            raise InputError(f"--closed-form needs no model and no text; leave out {surplus}")
        for name in of_models:
            if getattr(args, name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise InputError(f"{option} is an option for models, but --closed-form reads none; leave it out")
        return
    missing = next((name for name, value in {**inputs, "--lengths": args.lengths}.items() if value is None), None)
    if missing:
        raise InputError(f"{missing} is missing; give it, or --closed-form")
    for name in closed_form:
        if getattr(args, name) is not None:
            raise InputError(f"--{name.replace('_', '-')} is an option of --closed-form; leave it out")


def grid_of(args, measurement):
    """The Grid of a Measurement, from the options of add_model_arguments."""
    from fairseq_posenc.analysis.grid import Grid, check_systems

    systems = check_systems(args.path, args.names)
    text, loading = text_and_loading(args)
    return Grid(measurement, text, systems, args.patterns, args.lengths, loading, args.json)


def text_and_loading(args):
    """The Text, and the keyword arguments of load_model, from the options of add_model_arguments."""
    import torch

    from fairseq_posenc.analysis.language_model import read_overrides, read_text

    logging.getLogger("fairseq").setLevel(logging.WARNING)  # it logs how many sentences it reads
    if args.device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: PyTorch sees no GPU; leave the option out to run on the CPU")
    overrides = read_overrides(args.model_overrides)
    text = read_text(args.data, args.subset)
    if args.tokens is not None:
        text = text.first(args.tokens)
    return text, {"overrides": overrides, "precision": args.precision, "device": args.device}
