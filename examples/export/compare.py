"""Compare translations and speed of exported models with fairseq-generate's, on the same sentences, on one core.

Checkpoints are exported anew. All programs take turns; speed is the median of the rounds, without loading, per second
of processor time, which other work on the machine hardly changes. The two of CTranslate2 are in fp32 and int8.

  python -m examples.export.compare data-bin/multi30k rope=checkpoints/rope/checkpoint_last.pt --json speed.json
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

from fairseq_posenc import tables
from fairseq_posenc.analysis.language_model import file_sha256
from fairseq_posenc.errors import InputError
from fairseq_posenc.export import ctranslate2_model
from fairseq_posenc.export.checkpoint import load_trained
from fairseq_posenc.provenance import check_json_target
from fairseq_posenc.results import write_result

PRECISIONS = {"ctranslate2": "float32", "ctranslate2-int8": "int8"}


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="DATA", help="folder written by fairseq-preprocess, with the split test")
    parser.add_argument("systems", nargs="+", metavar="NAME=CKPT", help="translation models")
    parser.add_argument("--sentences", type=int, default=200, metavar="N", help="the first N (default: %(default)s)")
    parser.add_argument("--beam", type=int, default=4, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--batch", type=int, default=32, metavar="N", help="sentences (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--json", required=True, metavar="OUT", help="file for the result")
    return parser.parse_args(argv)


def fairseq_program(trained, sentences, args):
    """A function that returns the hypotheses of fairseq-generate, as words."""
    generator = trained.task.build_generator([trained.model], argparse.Namespace(beam=args.beam))
    target, dataset = trained.task.target_dictionary, trained.task.dataset("test")
    order = sorted(range(len(sentences)), key=lambda index: len(sentences[index]))
    batches = [order[start : start + args.batch] for start in range(0, len(order), args.batch)]

    def translate():
        found = {}
        for batch in batches:
            sample = dataset.collater([dataset[index] for index in batch])
            for index, hypotheses in zip(
                sample["id"].tolist(), trained.task.inference_step(generator, [trained.model], sample)
            ):
                tokens = hypotheses[0]["tokens"].tolist()
                found[index] = [target[token] for token in tokens if token != target.eos()]
        return [found[index] for index in range(len(sentences))]

    return translate


def ctranslate2_program(trained, precision, sentences, args):
    """The same of CTranslate2."""
    import ctranslate2

    with tempfile.TemporaryDirectory() as folder:
        ctranslate2_model.write(trained, Path(folder), precision)
        translator = ctranslate2.Translator(folder, inter_threads=1, intra_threads=1, compute_type=precision)

    def translate():
        options = {"beam_size": args.beam, "max_batch_size": args.batch, "max_decoding_length": 200}
        return [result.hypotheses[0] for result in translator.translate_batch(sentences, **options)]

    return translate


def measure(name, path, args):
    """The entry of one system in the result."""
    trained = load_trained(path, args.data)
    trained.task.load_dataset("test")
    dataset, source = trained.task.dataset("test"), trained.task.source_dictionary
    rows = [dataset[index]["source"].tolist() for index in range(min(args.sentences, len(dataset)))]
    sentences = [[source[token] for token in row if token != source.eos()] for row in rows]
    programs = {"fairseq": fairseq_program(trained, sentences, args)}
    for program, precision in PRECISIONS.items():
        programs[program] = ctranslate2_program(trained, precision, sentences, args)
    seconds, found = {program: [] for program in programs}, {}
    for _ in range(args.rounds):
        for program, translate in programs.items():
            begin = time.process_time()
            found[program] = translate()
            seconds[program].append(time.process_time() - begin)
    measured = {
        program: {
            "sentences_per_second": len(sentences) / statistics.median(times),
            "same_hypotheses": sum(one == other for one, other in zip(found[program], found["fairseq"])),
        }
        for program, times in seconds.items()
    }
    updates = torch.load(path)["optimizer_history"][-1]["num_updates"]
    return {"name": name, "sha256": file_sha256(path), "updates": updates, "programs": measured}


def main(argv=None):
    args = parse(argv)
    check_json_target(args.json)
    torch.set_num_threads(1)
    systems = [measure(*system.split("=", 1), args) for system in args.systems]
    fields = {name: getattr(args, name) for name in ("data", "sentences", "beam", "batch", "rounds")}
    write_result(args.json, "export-speed", {**fields, "threads": 1, "systems": systems})
    header = ["encoding", *(f"{program}, sentences/s (same)" for program in systems[0]["programs"])]
    rows = [
        [s["name"], *(f"{p['sentences_per_second']:.1f} ({p['same_hypotheses']})" for p in s["programs"].values())]
        for s in systems
    ]
    print("\n".join(tables.aligned([header, *rows])))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"compare: error: {error}")
