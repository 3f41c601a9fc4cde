"""How the gap between systems changes as the n-grams of the score get longer: Figure 4 of the PosNet paper.

The gap is a system's score minus the score of the first system, by sacreBLEU: chrF with character n-grams up to
n = 1..30 (and word n-grams up to 2), chrF with word n-grams up to n = 1..8 (and character n-grams up to 6), and BLEU
with word n-grams up to n = 1..8. Files have the formats of `fairseq-posenc score`.

  fairseq-posenc grain --ref test.de --names sinusoidal posnet-embed --hyp a.log b.log --json grain.json
  fairseq-posenc plot grain.json --output figure4
"""

from fairseq_posenc.cli.translations import add_translation_arguments, check_json_argument, print_notes
from fairseq_posenc.results import write_result
from fairseq_posenc.scoring.grain import grain_scores, text_table


def add_arguments(parser):
    add_translation_arguments(parser)


def run(args):
    check_json_argument(args, args.ref, *args.hyp)
    result = grain_scores(args.hyp, args.ref, names=args.names)
    print_notes("grain", result["notes"])
    print(text_table(result))
    if args.json is not None:
        write_result(args.json, "grain", result)
