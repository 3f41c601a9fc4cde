"""Speed and memory of the encodings relative to stock fairseq's sinusoidal Transformer.

Systems take turns in one run; the ratio is the median over rounds of the ratio to stock in the same round.
Memory is the peak of two training steps in a process of its own.
"""

from pathlib import Path

from fairseq_posenc.encodings import encoding_class, encoding_names
from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import check_json_target, provenance, write_json


def add_arguments(parser):
    parser.add_argument(
        "--encodings",
        type=lambda words: words.split(","),
        default=None,
        metavar="NAME,NAME",
        help="which encodings (default: all)",
    )
    parser.add_argument("--size", default="wmt_en_de", help="architecture size (default: %(default)s, the base model)")
    parser.add_argument("--vocabulary", type=int, default=40_000, help="words (default: %(default)s, the papers')")
    parser.add_argument("--length", type=int, default=32, help="tokens a sentence (default: %(default)s)")
    parser.add_argument("--sentences", type=int, default=32, help="sentences a batch (default: %(default)s)")
    parser.add_argument("--beam", type=int, default=4, help="beam size of generation (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="measured rounds, after one to warm up (default: 7)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write all numbers to this file")


def run(args):
    encodings = [encoding_class(name).name for name in args.encodings or encoding_names()]
    for argument in ("vocabulary", "length", "sentences", "beam", "rounds"):
        if getattr(args, argument) < 1:
            raise InputError(f"--{argument} must be at least 1, but is {getattr(args, argument)}")
    if args.json:
        check_json_target(args.json)
    # fairseq takes seconds to import: only after the arguments have been checked.
    import torch

    from fairseq_posenc.analysis.cost import STOCK, Generation, TrainingStep, Workload, compare_times, peak_memory
    from fairseq_posenc.models.transformer import SIZES

    if args.size not in SIZES:
        raise InputError(f"--size must be one of {', '.join(SIZES)}, but is {args.size}")
    if args.device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: PyTorch sees no GPU; leave it out to measure on the CPU")

    workload = Workload(args.size, args.vocabulary, args.length, args.sentences, args.beam, args.device)
    # First, as Linux starts a process with its parent's peak: this one is still small.
    memory = {name: peak_memory(workload, name) for name in (STOCK, *encodings)}
    training = compare_times(workload, encodings, TrainingStep, args.rounds)
    generation = compare_times(workload, encodings, Generation, args.rounds)
    print(table(training, generation, memory))
    if args.json:
        result = {
            "workload": {**vars(workload), "threads": torch.get_num_threads(), "rounds": args.rounds},
            "training": training,
            "generation": generation,
            "peak_memory_bytes": memory,
            **provenance(),
        }
        write_json(args.json, result)


def table(training, generation, memory):
    """One line a system: training and generation in tokens per second and relative time, peak memory."""
    stock = memory["stock"]
    lines = [f"{'system':<16} {'train tok/s':>12} {'time':>7} {'generate tok/s':>15} {'time':>7} {'memory':>9} {'':>7}"]
    for name, train in training.items():
        generate = generation[name]
        lines.append(
            f"{name:<16} {train['tokens_per_second']:>12.0f} {train['ratio_to_stock']:>6.3f}x"
            f" {generate['tokens_per_second']:>15.0f} {generate['ratio_to_stock']:>6.3f}x"
            f" {memory[name] / 2**30:>6.2f} GB {memory[name] / stock:>6.3f}x"
        )
    return "\n".join(lines)
