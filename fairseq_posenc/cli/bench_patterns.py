"""Time and memory of attention patterns by length, at inference: how they grow, and how they compare to full attention.

An untrained language model reads one text. --measure names what is measured: "time" (medians over rounds, in turns, of
the whole model and of its attention alone: all between the projections) and "memory" (the peak above the model in a
process of its own: of the process on a CPU, of PyTorch on a GPU). An exponent of 1 means linear in the length.

  fairseq-posenc bench-patterns --encodings none,xpos,alibi --patterns full,blockwise:512 --json patterns.json
  fairseq-posenc bench-patterns --measure memory --patterns full --lengths 8192 --encodings alibi,t5 --json memory.json
"""

from pathlib import Path

from fairseq_posenc.attention.patterns import attention_pattern
from fairseq_posenc.cli.devices import add_device_arguments, check_device
from fairseq_posenc.cli.lists import numbers, words
from fairseq_posenc.encodings import encoding_class
from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import check_json_target
from fairseq_posenc.results import write_result

MEASURES = ("time", "memory")


def add_arguments(parser):
    parser.add_argument(
        "--measure", type=words, default=["time"], metavar="WHAT,WHAT", help="of time, memory (default: time)"
    )
    parser.add_argument(
        "--encodings", type=words, default=["none"], metavar="NAME,NAME", help="which encodings (default: none)"
    )
    parser.add_argument(
        "--patterns",
        type=words,
        default=["full", "blockwise:512"],
        metavar="PATTERN,PATTERN",
        help="full, window:W, blockwise:L (default: full,blockwise:512)",
    )
    parser.add_argument(
        "--lengths",
        type=numbers,
        default=[1024, 2048, 4096, 8192, 16384, 32768],
        metavar="N,N",
        help="tokens of the text (default: 1024 to 32768)",
    )
    parser.add_argument(
        "--longest-full", type=int, default=8192, metavar="N", help="leave out full attention beyond (default: 8192)"
    )
    for name, default, meaning in (
        ("layers", 2, "layers"),
        ("dim", 512, "model dimension"),
        ("heads", 8, "attention heads"),
        ("vocabulary", 1000, "words"),
        ("rounds", 5, "measured rounds, after one to warm up"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{meaning} (default: {default})")
    add_device_arguments(parser)
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write all numbers to this file")


def run(args):
    for measure in args.measure:
        if measure not in MEASURES:
            raise InputError(f"--measure must be of {', '.join(MEASURES)}, but is {measure}")
    for argument in ("longest_full", "layers", "dim", "heads", "vocabulary", "rounds"):
        if getattr(args, argument) < 1:
            raise InputError(f"--{argument.replace('_', '-')} must be at least 1, but is {getattr(args, argument)}")
    if min(args.lengths) < 1:
        raise InputError(f"--lengths must be at least 1, but are {','.join(map(str, args.lengths))}")
    systems = [
        (encoding_class(name).name, str(attention_pattern(pattern)))
        for name in args.encodings
        for pattern in args.patterns
    ]
    lengths = sorted(set(args.lengths))
    if args.json:
        check_json_target(args.json)
    # fairseq takes seconds to import: only after the arguments have been checked.
    import torch

    from fairseq_posenc.analysis import pattern_cost
    from fairseq_posenc.analysis.precision import missing_kernels_in_one_line

    check_device(args.device)
    workload = pattern_cost.Workload(args.layers, args.dim, args.heads, args.vocabulary, args.device, args.precision)
    for name in dict.fromkeys(args.encodings):
        pattern_cost.check_limit(workload, name, lengths[-1])

    result = {"workload": {**vars(workload), "threads": torch.get_num_threads()}}
    with missing_kernels_in_one_line(args.precision):
        measure_all(args, workload, systems, lengths, result)
    if args.json:
        write_result(args.json, "pattern-cost", result)


def measure_all(args, workload, systems, lengths, result):
    """Measure what ``args`` ask for, print it, and leave it in ``result``."""
    from fairseq_posenc.analysis import pattern_cost

    if "memory" in args.measure:
        result["memory"] = pattern_cost.measure_memory(workload, systems, lengths, args.longest_full)
        for row in result["memory"]:
            print(f"{row['encoding']:<18} {row['pattern']:<14} {row['length']:>7} {row['bytes'] / 2**20:>8.0f} MiB")
    if "time" in args.measure:
        result["rounds"] = args.rounds
        result["time"] = pattern_cost.measure_times(workload, systems, lengths, args.longest_full, args.rounds)
        result["growth"] = pattern_cost.growth(result["time"])
        print(table(result["time"], result["growth"]))


def table(rows, growth):
    """One line a system and length, then one a system: exponents and speedup."""
    lines = [f"{'encoding':<18} {'pattern':<14} {'length':>7} {'model s':>9} {'attention s':>12}"]
    for row in rows:
        lines.append(
            f"{row['encoding']:<18} {row['pattern']:<14} {row['length']:>7} {row['seconds']:>9.3f} "
            f"{row['attention_seconds']:>12.3f}"
        )
    lines.append(f"\n{'encoding':<18} {'pattern':<14} time ~ length^x: model, attention; full attention / this")
    for record in growth:
        exponents = "".join(f" {record[name]:>6.2f}" for name in ("exponent", "attention_exponent") if name in record)
        speedup = ", ".join(f"{ratio:.1f} at {length}" for length, ratio in record.get("speedup", {}).items())
        lines.append(f"{record['encoding']:<18} {record['pattern']:<14}{exponents}  {speedup}".rstrip())
    return "\n".join(lines)
