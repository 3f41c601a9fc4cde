"""Perplexity of language models by the length of text that they read, by the protocols of the papers.

--protocol pieces       the text in non-overlapping pieces of each length (Sun et al. 2023); all tokens count
           last-token   --segments segments, the same last tokens at every length, which alone count (Chi et al. 2023,
                        section 3.4); a length counts the last token too
           sliding      a window of each length that moves by --stride tokens, which count (--stride 1: Press et al.
                        2022)
           by-position  pieces, with the perplexity by the position in the piece

Every length scores the same tokens, which is checked. Checkpoints of one name are seeds of one system: the table has
mean and standard deviation, and marks where a paired two-sided t-test (5 %) finds the baseline better (†) or worse (*).

Results are written to --json whenever a cell is finished. The same call again does what is left; a call with other
checkpoints, patterns or lengths adds to it.

  fairseq-posenc extrapolate data-bin/books --path checkpoints/xpos/checkpoint_best.pt \\
      checkpoints/alibi/checkpoint_best.pt --names xpos alibi --lengths 256,512,1024,2048 \\
      --patterns full,blockwise:512 --protocol pieces --json lengths.json
  fairseq-posenc plot lengths.json --output lengths
"""

from fairseq_posenc.cli.language_models import add_model_arguments, check_positive, text_and_loading
from fairseq_posenc.errors import InputError

#: Option -> (the protocol that reads it, what it sets there).
OF_PROTOCOL = {
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
    parser.add_argument("--stride", type=int, metavar="S", help="sliding: tokens between two windows")
    parser.add_argument("--segments", type=int, metavar="N", help="last-token: tokens that are scored (default: 1000)")
    parser.add_argument("--seed", type=int, metavar="K", help="last-token: of the draw of segments (default: 1)")
    parser.add_argument(
        "--segments-by-seed",
        action="store_true",
        default=None,
        help="last-token: a draw of its own for the first, second, .. checkpoint of every name",
    )
    parser.add_argument("--bucket", type=int, metavar="N", help="by-position: positions a number (default: length/64)")
    parser.add_argument("--baseline", metavar="NAME", help="system that others are tested against (default: the first)")
    parser.add_argument(
        "--max-tokens", type=int, default=16384, metavar="N", help="tokens a batch (default: %(default)s)"
    )


def run(args):
    options = protocol_options(args)
    check_positive(args, "max_tokens", "tokens")
    # fairseq takes seconds to import: only after the arguments have been checked.
    from fairseq_posenc.analysis.extrapolation import Extrapolation
    from fairseq_posenc.analysis.extrapolation_protocols import PROTOCOLS
    from fairseq_posenc.analysis.extrapolation_summary import t_test
    from fairseq_posenc.analysis.extrapolation_table import text_table
    from fairseq_posenc.analysis.grid import Grid, check_systems

    systems = check_systems(args.path, args.names)
    text, loading = text_and_loading(args)
    extrapolation = Extrapolation(PROTOCOLS[args.protocol](**options), args.baseline, args.max_tokens)
    grid = Grid(extrapolation, text, systems, args.patterns, args.lengths, loading, args.json)
    if grid.results.pairs():
        t_test()
    print(text_table(grid.run()))


def protocol_options(args):
    """Constructor arguments of the protocol. Raises InputError for options of another one, or out of range."""
    options = {}
    for name, (protocol, argument) in OF_PROTOCOL.items():
        value, flag = getattr(args, name), f"--{name.replace('_', '-')}"
        if value is None:
            continue
        if args.protocol != protocol:
            raise InputError(f"{flag} is an option of --protocol {protocol}, but this is {args.protocol}; leave it out")
        if value < (0 if name == "seed" else 1):
            raise InputError(f"{flag} must be at least {0 if name == 'seed' else 1}, but is {value}")
        options[argument] = value
    if args.protocol == "sliding" and "stride" not in options:
        raise InputError("--protocol sliding needs --stride, such as 1 (slow, exact) or half of the smallest length")
    return options
