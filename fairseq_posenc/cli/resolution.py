"""Attention resolution of language models: how well their attention tells distances apart (Sun et al. 2023).

s[n] is the mean attention score, before the softmax, of a query and the key n tokens before it (Eq 3 and 13), over
--texts pieces of the text and all heads and layers. The resolution of s is Eq 4; "mean of heads" averages the
resolutions of single heads. Pairs masked by the attention pattern do not count. Eq 4 cannot exceed 1, but numbers in
the paper's Table 3 do: compare the order of systems, not the values.

Every finished measurement is written to --json at once. Repeat the command to continue an interrupted run; run it with
other checkpoints, patterns or lengths to add them to the file.

--closed-form needs no model: it computes g of Eq 10 for RoPE and xPos, the curves of Figure 2.

  fairseq-posenc resolution data-bin/books --path checkpoints/*/checkpoint_best.pt --lengths 1024,2048 \\
      --patterns full,blockwise:1024 --json resolution.json
  fairseq-posenc resolution --closed-form --lengths 4096 --json figure2.json
  fairseq-posenc plot figure2.json --output figure2
"""

from fairseq_posenc.cli.language_models import (
    add_model_arguments,
    check_model_arguments,
    check_positive,
    grid_of,
)
from fairseq_posenc.errors import InputError
from fairseq_posenc.results import write_result

#: Options of --closed-form and their defaults.
CLOSED_FORM = {"dim": 64, "gamma": 0.4, "scale_base": 512.0}


def add_arguments(parser):
    add_model_arguments(
        parser, lengths="lengths in tokens; with --closed-form, the distances (default: 4096)", required=False
    )
    parser.add_argument("--texts", type=int, metavar="N", help="pieces of the text per length (default: 8)")
    parser.add_argument(
        "--closed-form", action="store_true", help="compute the expectation of Eq 10 instead of measuring a model"
    )
    parser.add_argument("--dim", type=int, metavar="D", help="with --closed-form: head dimension (default: 64)")
    parser.add_argument("--gamma", type=float, metavar="G", help="with --closed-form: gamma of xPos (default: 0.4)")
    parser.add_argument(
        "--scale-base", type=float, metavar="B", help="with --closed-form: scale base of xPos (default: 512)"
    )


def run(args):
    check_positive(args, "tokens", "texts", "dim")
    check_model_arguments(args, closed_form=tuple(CLOSED_FORM), of_models=("texts",))
    if args.closed_form:
        write_result(args.json, "resolution", closed_form(args))
    else:
        of_models(args)


def closed_form(args):
    from fairseq_posenc.analysis.grid import check_lengths
    from fairseq_posenc.analysis.resolution import closed_form_curves
    from fairseq_posenc.encodings.limits import check_number, check_table
    from fairseq_posenc.encodings.xpos import GAMMAS, SCALE_BASES

    options = {
        name: default if getattr(args, name) is None else getattr(args, name) for name, default in CLOSED_FORM.items()
    }
    if options["dim"] % 2:
        raise InputError(f"--dim must be even, but is {options['dim']}: dimensions are rotated in pairs")
    check_number("--gamma", options["gamma"], *GAMMAS)
    check_number("--scale-base", options["scale_base"], *SCALE_BASES)
    lengths = args.lengths or [4096]
    check_lengths(lengths, 2, "a curve")
    # In fp64; computing them takes three such tables.
    check_table(f"--dim {options['dim']} at --lengths {max(lengths)}", 3, max(lengths), options["dim"])
    curves = [
        {**curve, "length": length} for length in lengths for curve in closed_form_curves(length=length, **options)
    ]
    for curve in curves:
        print(f"{curve['name']:<6} {curve['length']:>7} distances, resolution {curve['resolution']:.3g}")
    return {"closed_form": options, "curves": curves}


def of_models(args):
    from fairseq_posenc.analysis.resolution import Resolution

    grid = grid_of(args, Resolution(8 if args.texts is None else args.texts))
    print(grid.run())
