"""Score translations: sacreBLEU, chrF++, the tokenised compound-split BLEU, and paired bootstrap significance.

A file of translations is plain text, one sentence a line, or the output of fairseq-generate, which is recognised: then
its D- lines (or H-, where it has none) are scored in the order of the data set, and its H- and T- lines give the
tokenised BLEU. Give the raw, untokenised reference text with --ref, or the figures cannot be compared with others'.

The tokenised compound-split BLEU is the figure of many papers before 2018 ("fairseq-score" after splitting "a-b" into
"a ##AT##-##AT## b"). With several files each is compared with the first: p is the probability of a difference as large
as this if both were equally good. ++ and + mark a BLEU or chrF++ that is significantly better than the first system's,
-- and - one that is worse, at the two --levels; the default levels are those of the PosNet paper's tables.

  fairseq-posenc score --ref newstest2014.de --hyp sinusoidal.out --hyp posnet.out --json scores.json
"""

import sys
from pathlib import Path

from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import check_json_target, provenance, write_json
from fairseq_posenc.scoring.report import score_files, text_table
from fairseq_posenc.scoring.significance import LEVELS, SAMPLES, SEED


def add_arguments(parser):
    parser.add_argument("--ref", metavar="FILE", help="reference translations, raw text, one sentence a line")
    parser.add_argument(
        "--hyp",
        metavar="FILE",
        required=True,
        nargs="+",
        action="extend",
        help="translations of one system; repeat for more, the first is the baseline",
    )
    parser.add_argument(
        "--name",
        metavar="NAME",
        nargs="+",
        action="extend",
        help="names of the systems, in the order of --hyp (default: the file names)",
    )
    parser.add_argument(
        "--tokenized",
        action="store_true",
        help="plain files are tokenised text: give their tokenised compound-split BLEU too",
    )
    parser.add_argument(
        "--chrf-eps-smoothing",
        action="store_true",
        help="chrF++ as Popović's chrF++.py computes it (default: as sacreBLEU does)",
    )
    parser.add_argument(
        "--bootstrap-samples", metavar="N", type=int, default=SAMPLES, help="resamplings (default: %(default)s)"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=SEED, help="of the bootstrap (default: %(default)s)")
    parser.add_argument(
        "--levels",
        metavar=("STRONG", "WEAK"),
        type=float,
        nargs=2,
        default=LEVELS,
        help=f"p below which a difference is marked ++ and + (default: {LEVELS[0]:g} {LEVELS[1]:g})",
    )
    parser.add_argument("--json", metavar="FILE", help="write the scores, with command and versions, to this file")


def run(args):
    if args.json is not None:
        check_json_target(args.json)
        inputs = [*args.hyp, args.ref] if args.ref is not None else args.hyp
        if Path(args.json).resolve() in [Path(path).resolve() for path in inputs]:
            raise InputError(f"--json {args.json} would overwrite an input file; choose another name")
    result = score_files(
        args.hyp,
        args.ref,
        names=args.name,
        tokenized=args.tokenized,
        eps_smoothing=args.chrf_eps_smoothing,
        samples=args.bootstrap_samples,
        seed=args.seed,
        levels=args.levels,
    )
    for note in result["notes"]:
        print(f"fairseq-posenc score: note: {note}", file=sys.stderr)
    print(text_table(result))
    if args.json is not None:
        write_json(args.json, {**result, **provenance()})
