"""Draw encodings as functions of distance: STEM.png, STEM.pdf, and the numbers in STEM.tsv.

Encodings that change attention scores: the bias, or the score of a query and a key of ones divided by their score at
distance 0. Encodings that change embeddings or values: the cosine between a vector at position 0 and the same vector
at position n. One line per head if heads differ; encoder (both directions) and decoder (the past).

Encodings have default options and initial weights, or those of a trained model with --checkpoint.

  fairseq-posenc draw alibi t5 --heads 8 --output biases
  fairseq-posenc draw --checkpoint checkpoint_best.pt --output trained
"""

from fairseq_posenc.cli.trust import add_trust_argument
from fairseq_posenc.encodings import encoding_class, encoding_names
from fairseq_posenc.errors import InputError

#: Larger values need many GiB of memory, or draw lines that nobody can tell apart.
MOST = {"heads": 256, "distance": 100_000}


def add_arguments(parser):
    parser.add_argument("names", nargs="*", metavar="NAME", help="encodings to draw")
    parser.add_argument("--heads", type=int, metavar="H", help="attention heads (default: 8)")
    parser.add_argument("--distance", type=int, default=64, metavar="N", help="largest distance (default: %(default)s)")
    parser.add_argument("--checkpoint", metavar="FILE", help="draw the encodings of this trained model")
    parser.add_argument("--layer", type=int, metavar="K", help="layer of the checkpoint (default: 1)")
    add_trust_argument(parser)
    parser.add_argument("--output", required=True, metavar="STEM", help="output files without their extension")


def run(args):
    names = [encoding_class(name).name for name in dict.fromkeys(args.names)]
    check(args, names)
    # Imported here because PyTorch takes seconds to import, and --help must work without matplotlib.
    from fairseq_posenc.analysis import by_distance
    from fairseq_posenc.plots.encoding import draw, rows_of
    from fairseq_posenc.plots.save import check_stem, save_figure

    check_stem(args.output)
    if args.checkpoint:
        encodings = by_distance.trained(args.checkpoint, 1 if args.layer is None else args.layer)
    else:
        encodings = by_distance.untrained(names, 8 if args.heads is None else args.heads, args.distance)
    rows = []
    for encoding, side in encodings:
        weights = "trained" if args.checkpoint else "initial"
        if not any(True for _ in encoding.parameters()):
            weights = "fixed"
        rows += rows_of(encoding.name, side, weights, by_distance.curves(encoding, args.distance))
    for path in save_figure(args.output, draw({"": rows}), "encoding", rows):
        print(path)


def check(args, names):
    """Raise InputError for options that do not go together, or numbers out of range."""
    if args.checkpoint and (names or args.heads is not None):
        surplus = " ".join(names) or f"--heads {args.heads}"
        raise InputError(f"--checkpoint sets the encodings and the number of heads; leave out {surplus}")
    if not args.checkpoint and args.layer is not None:
        raise InputError(f"--layer {args.layer} needs --checkpoint: all layers of an untrained model are alike")
    if not args.checkpoint and not names:
        raise InputError(f"give encodings, or --checkpoint; known encodings: {', '.join(encoding_names())}")
    for option in ("heads", "distance"):
        value = getattr(args, option)
        if value is not None and value < 1:
            raise InputError(f"--{option} must be at least 1, but is {value}")
    for option, most in MOST.items():
        value = getattr(args, option)
        if value is not None and value > most:
            raise InputError(f"--{option} must be at most {most}, but is {value}")
