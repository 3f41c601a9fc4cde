"""Receptive fields of language models: which tokens a prediction depends on (Chi et al. 2023, section 5).

For --segments random tokens of the text, the command takes the gradient of the token's log-probability with respect to
each preceding embedding, and divides its norm by the sum of all norms. The empirical receptive field is the smallest
number of most recent tokens whose shares sum to more than 0.99. The result also has the bound of an attention window
(its size times the number of layers), the mean attention distance of every layer, and the biases of encodings that have
one, with least-squares fits a log(1 + distance) + b through all distances and through the 50 nearest. A length includes
the predicted token.

Every finished measurement is written to --json at once. Repeat the command to continue an interrupted run; run it with
other checkpoints, patterns or lengths to add them to the file.

--closed-form needs no model: it computes Sandwich with h = 8 and its fits (Figures 8, 9, 10).

  fairseq-posenc receptive-field data-bin/arxiv --path checkpoints/*/checkpoint_best.pt --lengths 2048 --json field.json
  fairseq-posenc receptive-field --closed-form --lengths 8192 --dims 128,64,256 --json figure9.json
  fairseq-posenc plot field.json --output figure4
"""

from fairseq_posenc.cli.language_models import (
    add_model_arguments,
    check_model_arguments,
    check_positive,
    grid_of,
)
from fairseq_posenc.cli.lists import numbers
from fairseq_posenc.errors import InputError
from fairseq_posenc.results import write_result


def add_arguments(parser):
    add_model_arguments(
        parser, lengths="lengths in tokens; with --closed-form, the distances (default: 8192)", required=False
    )
    parser.add_argument("--segments", type=int, metavar="N", help="number of predicted tokens (default: 100)")
    parser.add_argument("--seed", type=int, metavar="K", help="seed of the random choice of segments (default: 1)")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="tokens per batch (default: 8192)")
    parser.add_argument(
        "--closed-form", action="store_true", help="compute Sandwich's bias instead of measuring a model"
    )
    parser.add_argument(
        "--dims",
        type=numbers,
        metavar="D,D",
        help="with --closed-form: Sandwich's dimensions (default: 128,32,64,256)",
    )


def run(args):
    check_positive(args, "tokens", "segments", "max_tokens")
    check_model_arguments(args, closed_form=("dims",), of_models=("segments", "seed", "max_tokens"))
    if args.closed_form:
        write_result(args.json, "receptive-field", closed_form(args))
    else:
        of_models(args)


def closed_form(args):
    from fairseq_posenc.analysis.bias_curves import RECENT, sandwich_curves
    from fairseq_posenc.analysis.grid import check_lengths
    from fairseq_posenc.encodings.limits import check_table

    lengths = args.lengths or [8192]
    if len(lengths) > 1:
        raise InputError(f"--lengths: --closed-form takes one length, but there are {len(lengths)}")
    check_lengths(lengths, RECENT, "the fit to the nearest distances")
    dims = args.dims or [128, 32, 64, 256]
    # In fp64; computing them takes three such tables.
    check_table(f"--dims {max(dims)} at --lengths {lengths[0]}", 3, lengths[0], max(dims))
    curves = sandwich_curves(dims, lengths[0])
    for curve in curves:
        print(f"sandwich, {curve['dim']:>4} dimensions: {formulas(curve)}")
    return {"length": lengths[0], "biases": curves}


def formulas(curve):
    """The two fits of a bias as text."""
    return ", ".join(f"{fit['a']:.3f} log(1 + n) {fit['b']:+.3f} ({points})" for points, fit in curve["fits"].items())


def of_models(args):
    from fairseq_posenc.analysis.receptive_field import ReceptiveField

    count, seed = 100 if args.segments is None else args.segments, 1 if args.seed is None else args.seed
    if seed < 0:
        raise InputError(f"--seed must be at least 0, but is {seed}")
    grid = grid_of(args, ReceptiveField(count, seed, 8192 if args.max_tokens is None else args.max_tokens))
    print(grid.run())
