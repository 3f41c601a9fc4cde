"""Normalise the punctuation of a text file and tokenise it, as Moses does.

fairseq-generate undoes this with ``--tokenizer moses``: dashes inside words are split off, and special characters are
escaped.
"""

import argparse

from sacremoses import MosesPunctNormalizer, MosesTokenizer

from examples.common.command_line import run_main, workers_option
from examples.common.lines import rewrite


def tokenizer(language):
    """A function from a line to its Moses tokens, separated by spaces."""
    normalizer, moses = MosesPunctNormalizer(language), MosesTokenizer(language)
    return lambda line: moses.tokenize(normalizer.normalize(line), aggressive_dash_splits=True, return_str=True)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", help="such as en")
    parser.add_argument("input", help="text, one sentence per line")
    parser.add_argument("output", help="the tokens, one sentence per line")
    workers_option(parser)
    args = parser.parse_args(argv)
    rewrite(args.input, args.output, tokenizer, (args.language,), args.workers)


if __name__ == "__main__":
    run_main(main)
