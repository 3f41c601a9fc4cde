"""Compare exported models with fairseq's commands on the same sentences, on one core: what they write, and how fast.

Checkpoints are exported anew, to CTranslate2 in fp32 and int8 and to Hugging Face's transformers, as far as these know
the model. Translation models translate with beam search. Language models continue the first words of each sentence with
the likeliest word after word; their logits of whole sentences are compared too. All programs take turns; speed is the
median of the rounds, without loading, per second of processor time, which other work on the machine hardly changes.

  python -m examples.export.compare data-bin/multi30k rope=checkpoints/rope/checkpoint_last.pt --json speed.json
"""

import argparse
import statistics
import sys
import time
from functools import partial

import torch

from examples.common.command_line import positive, run_main
from examples.export import continuation, translation
from examples.export.table import cells
from fairseq_posenc import tables
from fairseq_posenc.analysis.language_model import file_sha256
from fairseq_posenc.errors import InputError
from fairseq_posenc.export.checkpoint import load_trained
from fairseq_posenc.provenance import check_json_target
from fairseq_posenc.results import write_result

TRANSLATION = {
    "fairseq": translation.fairseq,
    "ctranslate2": partial(translation.ctranslate2, precision="float32"),
    "ctranslate2-int8": partial(translation.ctranslate2, precision="int8"),
    "huggingface": translation.huggingface,
}
CONTINUATION = {
    "fairseq": continuation.Fairseq,
    "ctranslate2": partial(continuation.CTranslate2, precision="float32"),
    "ctranslate2-int8": partial(continuation.CTranslate2, precision="int8"),
    "huggingface": continuation.HuggingFace,
}


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="DATA", help="folder written by fairseq-preprocess, with the split test")
    parser.add_argument("systems", nargs="+", metavar="NAME=CKPT", help="models, all of them of this data")
    parser.add_argument("--sentences", type=positive, default=200, metavar="N", help="the first N (default: 200)")
    parser.add_argument("--beam", type=positive, default=4, metavar="N", help="of translations (default: 4)")
    parser.add_argument("--batch", type=positive, default=32, metavar="N", help="sentences (default: 32)")
    parser.add_argument("--rounds", type=positive, default=3, metavar="N", help="(default: 3)")
    parser.add_argument("--json", required=True, metavar="OUT", help="file for the result")
    args = parser.parse_args(argv)
    for system in args.systems:
        if "=" not in system:
            raise InputError(f"{system} has no name; write NAME=CKPT, such as rope={system}")
    return args


def read_sentences(trained, count):
    """The first sentences of the split "test", as lists of words without the end of the sentence."""
    trained.task.load_dataset("test")
    dataset, words = trained.task.dataset("test"), trained.task.source_dictionary
    rows = (dataset[index]["source" if trained.translates else "target"] for index in range(min(count, len(dataset))))
    return [translation.words_of(words, row) for row in rows]


def programs_of(trained, sentences, args):
    """{name: function that returns all hypotheses}, without the programs that do not know the model."""
    programs = {}
    for name, make in (TRANSLATION if trained.translates else CONTINUATION).items():
        try:
            programs[name] = make(trained, sentences, args)
        except InputError as error:
            print(f"left out: {error}", file=sys.stderr)
    return programs


def measure(name, path, args):
    """The entry of one system in the result."""
    trained = load_trained(path, args.data)
    sentences = read_sentences(trained, args.sentences)
    programs = programs_of(trained, sentences, args)
    seconds, found = {program: [] for program in programs}, {}
    for _ in range(args.rounds):
        for program, write in programs.items():
            begin = time.process_time()
            found[program] = write()
            seconds[program].append(time.process_time() - begin)
    measured = {
        program: {
            "sentences_per_second": len(sentences) / statistics.median(times),
            "same_hypotheses": sum(one == other for one, other in zip(found[program], found["fairseq"])),
            "logits_apart": None
            if trained.translates
            else logits_apart(programs["fairseq"], programs[program], sentences),
        }
        for program, times in seconds.items()
    }
    updates = torch.load(path)["optimizer_history"][-1]["num_updates"]
    return {"name": name, "sha256": file_sha256(path), "updates": updates, "programs": measured}


def logits_apart(one, other, sentences):
    """The largest difference of logits of two programs."""
    return max(float((one.logits(words) - other.logits(words)).abs().max()) for words in sentences)


def main(argv=None):
    args = parse(argv)
    check_json_target(args.json)
    torch.set_num_threads(1)
    systems = [measure(*system.split("=", 1), args) for system in args.systems]
    fields = {name: getattr(args, name) for name in ("data", "sentences", "beam", "batch", "rounds")}
    record = {**fields, "threads": 1, "systems": systems}
    write_result(args.json, "export-speed", record)
    print("\n".join(tables.aligned(cells(record))))


if __name__ == "__main__":
    run_main(main)
