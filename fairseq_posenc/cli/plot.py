"""Draw saved results: STEM.png, STEM.pdf, and the numbers in STEM.tsv.

The "kind" of a result determines the figure:

  scores, quickstart           BLEU and chrF++ of systems (score; examples/quickstart)
  table, kernel-dim            BLEU and chrF++ of trained systems; with --posnet-dim, BLEU by the dimension of
                               PosNet's kernels (examples/wmt14)
  grain, lengths               results of the commands with these names
  cost, pattern-cost           time and memory (bench; bench --patterns)
  command-cost                 speed and time by part of whole commands (bench --commands)
  extrapolation, by-position   perplexity by length, or by position (extrapolate)
  length-table                 a table by lengths, next to the paper's numbers (examples/lm)
  length-bands                 BLEU by encoding, positions and length (examples/wmt14)
  length-tasks, length-curves  accuracy by encoding and task; by length (examples/length)
  resolution, receptive-field  results of the commands with these names
  encoding                     encodings as functions of distance (draw)

A result can also be a TSV file, such as the STEM.tsv of an earlier figure. Its column "kind" names the kind; without
it, the columns determine the kind. Rows with different values in a column "result" are different results. Results of
one kind are drawn next to each other. --paper FILE, also TSV, adds panels with the results of a paper. --only draws
some of the systems.

  fairseq-posenc bench --measure forward --json forward.json
  fairseq-posenc plot forward.json --output figure2
  fairseq-posenc plot forward.json --only sinusoidal,rope --output rope
"""

from fairseq_posenc.cli.lists import words


def add_arguments(parser):
    parser.add_argument("results", nargs="+", metavar="RESULT", help="JSON file of another command, or TSV file")
    parser.add_argument("--output", required=True, metavar="STEM", help="output files without their extension")
    parser.add_argument("--paper", metavar="FILE", help="TSV file with the results of a paper")
    parser.add_argument("--only", type=words, metavar="NAME,NAME", help="systems to draw (default: all)")


def run(args):
    # Imported here, so that --help works without matplotlib.
    from fairseq_posenc.plots.results import KINDS, chosen, read_results
    from fairseq_posenc.plots.save import check_stem, save_figure

    inputs = [*args.results, *([] if args.paper is None else [args.paper])]
    check_stem(args.output, inputs)
    kind, results = read_results(args.results, args.paper)
    if args.only is not None:
        results = chosen(kind, results, args.only)
    figure = KINDS[kind].draw(results)
    rows = [{"result": label, **row} for label, of_result in results.items() for row in of_result]
    for path in save_figure(args.output, figure, kind, rows):
        print(path)
