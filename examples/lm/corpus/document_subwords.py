"""Learn subwords from documents, or use GPT-2's, and write documents as lines of subwords.

  document_subwords.py sentencepiece SIZE MODEL DICTIONARY TRAIN.jsonl    learn pieces (BPE) with sentencepiece
  document_subwords.py gpt2 FOLDER MODEL DICTIONARY                       use GPT-2's encoder.json and vocab.bpe
  document_subwords.py apply MODEL SPLIT.jsonl OUTPUT                     write one document per line

No character is lost: line ends and runs of spaces are subwords too, so that a document is one line, and decoding
restores the document. Characters that are in no piece become bytes. DICTIONARY is fairseq's dictionary of all subwords.
"""

import argparse
import json
import multiprocessing
import shutil
from pathlib import Path

from tqdm import tqdm

from examples.common.command_line import positive, run_main, workers_option
from examples.common.files import file_at_once, folder_at_once, write_at_once
from examples.common.subwords import sentencepiece_model
from fairseq_posenc.errors import InputError

#: sentencepiece learns from a sample of at most this many lines; more would need hundreds of gigabytes.
LINES = 5_000_000
LINE_END = "<0x0A>"
GPT2_FILES = ("encoder.json", "vocab.bpe")


def documents(path):
    """The texts of a .jsonl file."""
    if not Path(path).is_file():
        raise InputError(f"cannot read {path}: no such file; run the steps before this one")
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            yield json.loads(line)["text"]


def lines_to_learn(path):
    """The lines of all documents, with spaces for other white space.

    fairseq splits a line at any white space, so that it must not be part of a piece; ``encoder`` writes it as bytes.
    """
    for text in tqdm(documents(path), desc="documents to learn from", leave=False, disable=None):
        for line in text.split("\n"):
            if line:
                yield "".join(" " if char.isspace() else char for char in line)


def learn(size, model, dictionary, train):
    """Learn ``size`` pieces, including bytes; write sentencepiece's model and fairseq's dictionary."""
    from sentencepiece import SentencePieceProcessor

    content = sentencepiece_model(
        size,
        lines_to_learn(train),
        character_coverage=0.9999,
        byte_fallback=True,
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        add_dummy_prefix=False,
        split_digits=True,
        max_sentence_length=100_000,
        input_sentence_size=LINES,
    )
    processor = SentencePieceProcessor(model_proto=content)
    special = {processor.unk_id(), processor.bos_id(), processor.eos_id()}
    write_dictionary(dictionary, (processor.id_to_piece(i) for i in range(len(processor)) if i not in special))
    with file_at_once(model) as file:
        file.write(content)


def copy_gpt2(folder, model, dictionary):
    """Copy GPT-2's files to the folder ``model`` and write the dictionary of its token ids."""
    missing = [name for name in GPT2_FILES if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"{folder} lacks {' and '.join(missing)}; give the folder of GPT-2's encoder.json and vocab.bpe"
        )
    try:
        ids = json.loads((folder / "encoder.json").read_text(encoding="utf-8")).values()
    except (ValueError, AttributeError) as error:
        raise InputError(f"cannot read {folder / 'encoder.json'} ({error}); fetch it again") from None
    with folder_at_once(model) as partial:
        for name in GPT2_FILES:
            shutil.copyfile(folder / name, partial / name)
        write_dictionary(dictionary, map(str, sorted(ids)))


def write_dictionary(path, symbols):
    """Write fairseq's dictionary of these symbols, with 1 as the count of each, because the counts are not known."""
    write_at_once(path, "".join(f"{symbol} 1\n" for symbol in symbols))


def encoder(model):
    """A function from a text to its subwords, joined by spaces; ``model``: sentencepiece's file or GPT-2's folder."""
    if model.is_dir():
        from fairseq.data.encoders.gpt2_bpe_utils import get_encoder

        gpt2 = get_encoder(*(str(model / name) for name in GPT2_FILES))
        return lambda text: " ".join(map(str, gpt2.encode(text)))
    if not model.is_file():
        raise InputError(f"cannot read {model}: no such file; run the steps before this one")
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_file=str(model))
    # Line by line, because no piece contains a line end.
    return lambda text: f" {LINE_END} ".join(
        " ".join(pieces) for pieces in processor.encode(text.split("\n"), out_type=str)
    )


def decoder(model):
    """The inverse of ``encoder``."""
    if model.is_dir():
        from fairseq.data.encoders.gpt2_bpe_utils import get_encoder

        gpt2 = get_encoder(*(str(model / name) for name in GPT2_FILES))
        return lambda line: gpt2.decode([int(token) for token in line.split()])
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_file=str(model))
    return lambda line: processor.decode(line.split())


_encode = None  # in a worker process: the function from a text to its subwords


def _start(model):
    global _encode
    _encode = encoder(model)


def _line(text):
    return " ".join(_encode(text).split()) + "\n"


def apply(model, source, target, workers):
    """Write the documents of ``source`` as lines of subwords to ``target``. An error leaves no partial file there."""
    texts = documents(source)
    with file_at_once(target) as output:
        if workers == 1:
            _start(model)
            lines = map(_line, texts)
            _write(lines, output, target.name)
        else:
            with multiprocessing.Pool(workers, _start, (model,)) as pool:
                _write(pool.imap(_line, texts, chunksize=8), output, target.name)


def _write(lines, output, title):
    for line in tqdm(lines, desc=title, unit=" documents", leave=False, disable=None):
        output.write(line.encode())


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    learning = commands.add_parser("sentencepiece", help="learn pieces")
    learning.add_argument("size", type=positive)
    learning.add_argument("model", type=Path)
    learning.add_argument("dictionary", type=Path)
    learning.add_argument("train", type=Path)
    copying = commands.add_parser("gpt2", help="use GPT-2's subwords")
    copying.add_argument("folder", type=Path)
    copying.add_argument("model", type=Path)
    copying.add_argument("dictionary", type=Path)
    applying = commands.add_parser("apply", help="write documents as subwords")
    applying.add_argument("model", type=Path)
    applying.add_argument("input", type=Path)
    applying.add_argument("output", type=Path)
    workers_option(applying)
    args = parser.parse_args(argv)
    if args.command == "sentencepiece":
        learn(args.size, args.model, args.dictionary, args.train)
    elif args.command == "gpt2":
        copy_gpt2(args.folder, args.model, args.dictionary)
    else:
        apply(args.model, args.input, args.output, args.workers)


if __name__ == "__main__":
    run_main(main)
