"""Draw saved results: STEM.png, STEM.pdf, and STEM.tsv with the numbers in them.

What is drawn follows from the kind that a result names:

  scores, quickstart           BLEU and chrF++ of systems (score; examples/quickstart)
  table, kernel-dim            the same of trained systems; where they have --posnet-dim, BLEU by the dimension of
                               PosNet's kernels (examples/wmt14)
  grain, lengths               the commands of these names
  cost, pattern-cost           time and memory (bench; bench --patterns)
  extrapolation, by-position   perplexity by length, or by position (extrapolate)
  length-table                 what a table by lengths holds, the paper's numbers beside (examples/lm)
  resolution, receptive-field  the commands of these names
  encoding                     what encodings do at every distance (draw)

A TSV file is a result too, such as the STEM.tsv of an earlier figure: its column "kind" names the kind, or else its
columns tell; its column "result", if any, tells several results apart. Several results of one kind are drawn beside
each other. --paper FILE, a TSV file as well, draws figures of a paper, in panels of their own.

  fairseq-posenc bench --measure forward --json forward.json
  fairseq-posenc plot forward.json --output figure2
"""


def add_arguments(parser):
    parser.add_argument("results", nargs="+", metavar="RESULT", help="JSON of another command, or TSV")
    parser.add_argument("--output", required=True, metavar="STEM", help="where to write, without an ending")
    parser.add_argument("--paper", metavar="FILE", help="TSV with figures of a paper")


def run(args):
    # Not before: without matplotlib there is help all the same.
    from fairseq_posenc.plots.results import KINDS, read_results
    from fairseq_posenc.plots.save import check_stem, save_figure

    inputs = [*args.results, *([] if args.paper is None else [args.paper])]
    check_stem(args.output, inputs)
    kind, results = read_results(args.results, args.paper)
    figure = KINDS[kind].draw(results)
    rows = [{"result": label, **row} for label, of_result in results.items() for row in of_result]
    for path in save_figure(args.output, figure, kind, rows):
        print(path)
