"""BLEU, chrF++ and brevity ratio by the length of the source sentence.

The length of a sentence is its number of words in --src, separated by white space. The sentences of each bucket are
scored as a separate corpus. --buckets gives the upper limits of the buckets; one more bucket holds longer sentences.
The brevity ratio is below 1 where translations are too short. With several files, the BLEU of each is compared with
that of the first in every bucket, as in `fairseq-posenc score`.

For length extrapolation, translate a test set with sentences longer than any in training: for example lines of 1, 2,
.. 8 consecutive sentences joined, all in one file. Give the training text, in the same form as --src, with
--training-source to record the length of its longest sentence and show it in the figure.

  fairseq-posenc lengths --src test.en --ref test.de --names sinusoidal rope --hyp a.log b.log --json lengths.json
  fairseq-posenc plot lengths.json --output lengths
"""

from fairseq_posenc.cli.lists import numbers
from fairseq_posenc.cli.translations import add_translation_arguments, check_json_argument, print_notes
from fairseq_posenc.results import write_result
from fairseq_posenc.scoring.lengths import BUCKETS, length_scores, text_table


def add_arguments(parser):
    parser.add_argument("--src", metavar="FILE", required=True, help="source text of the same sentences, one per line")
    add_translation_arguments(parser)
    parser.add_argument(
        "--buckets",
        metavar="N,N",
        type=numbers,
        default=list(BUCKETS),
        help=f"upper limits in words (default: {','.join(map(str, BUCKETS))})",
    )
    parser.add_argument(
        "--training-source",
        metavar="FILE",
        help="source text of the training data, for the length of its longest sentence",
    )


def run(args):
    check_json_argument(args, args.src, args.ref, args.training_source, *args.hyp)
    result = length_scores(args.src, args.hyp, args.ref, args.names, args.buckets, args.training_source)
    print_notes("lengths", result["notes"])
    print(text_table(result))
    if args.json is not None:
        write_result(args.json, "lengths", result)
