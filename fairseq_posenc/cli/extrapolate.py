"""Perplexity of language models by context length, with the protocols of the papers.

--protocol pieces       cut the text into non-overlapping pieces of each length and score all tokens (Sun et al. 2023)
           last-token   score only the last token of --segments segments, the same tokens at every length; the length
                        includes the last token (Chi et al. 2023, section 3.4)
           sliding      move a window of each length by --stride tokens and score these (--stride 1: Press et al. 2022)
           by-position  as pieces, with the perplexity at each position in the piece

Every length scores the same tokens; the command checks this. Checkpoints with the same name are seeds of one system:
the table shows mean and standard deviation, and a paired two-sided t-test at 5 % marks lengths at which the baseline is
better (†) or worse (*).

Every finished measurement is written to --json at once. Repeat the command to continue an interrupted run; run it with
other checkpoints, patterns or lengths to add them to the file.

  fairseq-posenc extrapolate data-bin/books --path checkpoints/xpos/checkpoint_best.pt \\
      checkpoints/alibi/checkpoint_best.pt --names xpos alibi --lengths 256,512,1024,2048 \\
      --patterns full,blockwise:512 --protocol pieces --json lengths.json
  fairseq-posenc plot lengths.json --output lengths
"""

from fairseq_posenc.cli.language_models import add_model_arguments, check_positive, grid_of
from fairseq_posenc.errors import InputError

#: Option -> (the protocol that has it, the protocol's argument).
PROTOCOL_OPTIONS = {
    "stride": ("sliding", "stride"),
    "segments": ("last-token", "segments"),
    "seed": ("last-token", "seed"),
    "segments_by_seed": ("last-token", "by_seed"),
    "bucket": ("by-position", "bucket"),
}


def add_arguments(parser):
    add_model_arguments(parser, lengths="lengths in tokens")
    parser.add_argument(
        "--protocol", choices=("pieces", "last-token", "sliding", "by-position"), required=True, help="see above"
    )
    parser.add_argument("--stride", type=int, metavar="S", help="sliding: tokens by which the window moves")
    parser.add_argument("--segments", type=int, metavar="N", help="last-token: number of segments (default: 1000)")
    parser.add_argument(
        "--seed", type=int, metavar="K", help="last-token: seed of the random choice of segments (default: 1)"
    )
    parser.add_argument(
        "--segments-by-seed",
        action="store_true",
        default=None,
        help="last-token: choose other segments for the first, second, .. checkpoint of every name",
    )
    parser.add_argument(
        "--bucket", type=int, metavar="N", help="by-position: positions per bucket (default: length/64)"
    )
    parser.add_argument("--baseline", metavar="NAME", help="system to test the others against (default: the first)")
    parser.add_argument(
        "--max-tokens", type=int, default=16384, metavar="N", help="tokens per batch (default: %(default)s)"
    )


def run(args):
    options = protocol_options(args)
    check_positive(args, "max_tokens", "tokens")
    # fairseq takes seconds to import: only after the arguments have been checked.
    from fairseq_posenc.analysis.extrapolation import Extrapolation
    from fairseq_posenc.analysis.extrapolation_protocols import PROTOCOLS
    from fairseq_posenc.analysis.extrapolation_summary import t_test

    grid = grid_of(args, Extrapolation(PROTOCOLS[args.protocol](**options), args.baseline, args.max_tokens))
    if grid.results.pairs():
        t_test()
    print(grid.run())


def protocol_options(args):
    """Constructor arguments of the protocol. Raises InputError for options of another protocol or out of range."""
    options = {}
    for name, (protocol, argument) in PROTOCOL_OPTIONS.items():
        value, flag = getattr(args, name), f"--{name.replace('_', '-')}"
        if value is None:
            continue
        if args.protocol != protocol:
            raise InputError(f"{flag} is an option of --protocol {protocol}, but this is {args.protocol}; leave it out")
        if value < (0 if name == "seed" else 1):
            raise InputError(f"{flag} must be at least {0 if name == 'seed' else 1}, but is {value}")
        options[argument] = value
    if args.protocol == "sliding" and "stride" not in options:
        raise InputError("--protocol sliding needs --stride, such as 1 (exact but slow) or half of the smallest length")
    return options
