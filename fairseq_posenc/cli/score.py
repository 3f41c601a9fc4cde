"""Score translations: sacreBLEU, chrF++, the tokenised compound-split BLEU, and paired bootstrap significance.

A file of translations is plain text with one sentence per line, or the output of fairseq-generate, which is detected.
Of such output, the D- lines (or H- lines if there are none) are scored in the order of the data set, and the H- and T-
lines give the tokenised BLEU. Give the raw, untokenised reference text with --ref; otherwise the scores cannot be
compared with published ones.

Many papers before 2018 report the tokenised compound-split BLEU ("fairseq-score" after splitting "a-b" into
"a ##AT##-##AT## b"). With several files, each is compared with the first: p is the probability of such a large
difference if both were equally good. ++ and + mark a BLEU or chrF++ that is significantly better than the first
system's, -- and - one that is worse, at the two --levels; the default levels are those of the PosNet paper.

  fairseq-posenc score --ref newstest2014.de --hyp sinusoidal.out --hyp posnet.out --json scores.json
"""

from fairseq_posenc.cli.translations import add_translation_arguments, check_json_argument, print_notes
from fairseq_posenc.results import write_result
from fairseq_posenc.scoring.report import score_files, text_table
from fairseq_posenc.scoring.significance import LEVELS, SAMPLES, SEED


def add_arguments(parser):
    add_translation_arguments(parser)
    parser.add_argument(
        "--tokenized",
        action="store_true",
        help="plain text files are tokenised: also compute their tokenised compound-split BLEU",
    )
    parser.add_argument(
        "--chrf-eps-smoothing",
        action="store_true",
        help="chrF++ as Popović's chrF++.py computes it (default: as sacreBLEU does)",
    )
    parser.add_argument(
        "--bootstrap-samples", metavar="N", type=int, default=SAMPLES, help="bootstrap samples (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", metavar="N", type=int, default=SEED, help="seed of the bootstrap (default: %(default)s)"
    )
    parser.add_argument(
        "--levels",
        metavar=("STRONG", "WEAK"),
        type=float,
        nargs=2,
        default=LEVELS,
        help=f"p-values below which a difference is marked ++ and + (default: {LEVELS[0]:g} {LEVELS[1]:g})",
    )


def run(args):
    check_json_argument(args, args.ref, *args.hyp)
    result = score_files(
        args.hyp,
        args.ref,
        names=args.names,
        tokenized=args.tokenized,
        eps_smoothing=args.chrf_eps_smoothing,
        samples=args.bootstrap_samples,
        seed=args.seed,
        levels=args.levels,
    )
    print_notes("score", result["notes"])
    print(text_table(result))
    if args.json is not None:
        write_result(args.json, "scores", result)
