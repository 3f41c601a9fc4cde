"""Learn one subword vocabulary for both languages, or apply it to a file.

  subwords.py learn {subword_nmt,sentencepiece} SIZE MODEL INPUT...     SIZE: merges, or pieces for sentencepiece
  subwords.py apply {subword_nmt,sentencepiece} MODEL INPUT OUTPUT

The input consists of Moses tokens. sentencepiece learns BPE too, without normalisation, because Moses has normalised
the text.
"""

import argparse
import io
from pathlib import Path

from tqdm import tqdm

from examples.common.command_line import positive, run_main, workers_option
from examples.common.files import file_at_once
from examples.common.lines import rewrite
from fairseq_posenc.errors import InputError

KINDS = ("subword_nmt", "sentencepiece")
#: sentencepiece learns from a sample of at most this many sentences; more would need hundreds of gigabytes.
SENTENCES = 10_000_000


def read(paths):
    """The lines of several files, one after the other, with progress."""
    for path in paths:
        if not Path(path).is_file():
            raise InputError(f"cannot read {path}: no such file; run the steps before this one")
        # codecs.open would also end lines at U+2028 and other characters.
        with open(path, encoding="utf-8", newline="\n") as file:
            yield from tqdm(file, desc=f"words of {Path(path).name}", unit=" lines", leave=False, disable=None)


def learn_merges(size, lines):
    """The codes file of subword-nmt, as bytes."""
    from subword_nmt.learn_bpe import learn_bpe

    codes = io.StringIO()
    learn_bpe(lines, codes, size)
    return codes.getvalue().encode()


def learn_pieces(size, lines):
    """The model file of sentencepiece, as bytes."""
    lines = (line.rstrip("\n") for line in lines)
    return sentencepiece_model(size, lines, character_coverage=1.0, input_sentence_size=SENTENCES)


def sentencepiece_model(size, lines, **options):
    """The model file of sentencepiece's BPE without normalisation, as bytes.

    Args:
        size: number of pieces.
        lines: the text, without line ends.
        options: further options of sentencepiece.

    Raises:
        InputError: sentencepiece cannot learn so many pieces.
    """
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=lines,
            model_writer=model,
            vocab_size=size,
            model_type="bpe",
            normalization_rule_name="identity",
            shuffle_input_sentence=True,
            minloglevel=2,
            **options,
        )
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise InputError(f"sentencepiece cannot learn {size} pieces ({reason}); give fewer, or more text") from None
    return model.getvalue()


def learn(kind, size, model, inputs):
    """Learn subwords from text files and write the model file."""
    content = {"subword_nmt": learn_merges, "sentencepiece": learn_pieces}[kind](size, read(inputs))
    with file_at_once(Path(model)) as file:
        file.write(content)


def merger(model):
    """A function from a line of words to its subwords, by subword-nmt."""
    from subword_nmt.apply_bpe import BPE

    with open(model, encoding="utf-8") as codes:
        return BPE(codes).process_line


def splitter(model):
    """A function from a line of words to its pieces, by sentencepiece."""
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_file=model)
    return lambda line: " ".join(processor.encode(line, out_type=str))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    learning = commands.add_parser("learn", help="learn a model file from text files")
    learning.add_argument("kind", choices=KINDS)
    learning.add_argument("size", type=positive)
    learning.add_argument("model")
    learning.add_argument("input", nargs="+")
    applying = commands.add_parser("apply", help="split the words of a file into subwords")
    applying.add_argument("kind", choices=KINDS)
    applying.add_argument("model")
    applying.add_argument("input")
    applying.add_argument("output")
    workers_option(applying)
    args = parser.parse_args(argv)
    if args.command == "learn":
        learn(args.kind, args.size, args.model, args.input)
        return
    if not Path(args.model).is_file():
        raise InputError(f"cannot read {args.model}: no such file; run the steps before this one")
    rewrite(args.input, args.output, merger if args.kind == "subword_nmt" else splitter, (args.model,), args.workers)


if __name__ == "__main__":
    run_main(main)
