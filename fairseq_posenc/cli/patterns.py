"""``fairseq-posenc bench --patterns``: time and memory of attention patterns by length."""

from fairseq_posenc.attention.patterns import attention_pattern
from fairseq_posenc.cli.devices import check_device
from fairseq_posenc.encodings import encoding_class
from fairseq_posenc.errors import InputError
from fairseq_posenc.results import write_result
from fairseq_posenc.tables import aligned

MEASURES = ("forward", "memory")
PATTERNS = ["full", "blockwise:512"]
DEFAULTS = {
    "lengths": [1024, 2048, 4096, 8192, 16384, 32768],
    "longest_full": 8192,
    "layers": 2,
    "dim": 512,
    "heads": 8,
}


def run(args):
    measures = args.measure or ["forward"]
    for measure in measures:
        if measure not in MEASURES:
            raise InputError(f"--measure must be of {', '.join(MEASURES)} with --patterns, but is {measure}")
    args.vocabulary = 1000 if args.vocabulary is None else args.vocabulary
    args.rounds = 5 if args.rounds is None else args.rounds
    for argument in ("longest_full", "layers", "dim", "heads", "vocabulary", "rounds"):
        if getattr(args, argument) < 1:
            raise InputError(f"--{argument.replace('_', '-')} must be at least 1, but is {getattr(args, argument)}")
    if min(args.lengths) < 1:
        raise InputError(f"--lengths must be at least 1, but are {','.join(map(str, args.lengths))}")
    encodings = [encoding_class(name).name for name in args.encodings or ["none"]]
    systems = [(name, str(attention_pattern(pattern))) for name in encodings for pattern in args.patterns]
    lengths = sorted(set(args.lengths))
    # fairseq takes seconds to import: only after the arguments have been checked.
    import torch

    from fairseq_posenc.analysis import pattern_cost
    from fairseq_posenc.analysis.precision import missing_kernels_in_one_line
    from fairseq_posenc.analysis.workload import Patterns

    check_device(args.device)
    sizes = {"layers": args.layers, "dim": args.dim, "heads": args.heads}
    workload = Patterns(vocab_size=args.vocabulary, device=args.device, precision=args.precision, **sizes)
    for name in dict.fromkeys(encodings):
        pattern_cost.check_limit(workload, name, lengths[-1])
    result = {"workload": {**workload.settings(), "threads": torch.get_num_threads()}}
    grid = systems, lengths, args.longest_full
    with missing_kernels_in_one_line(args.precision):
        if "memory" in measures:
            result["memory"] = pattern_cost.measure_memory(workload, *grid)
            print(memory_table(result["memory"]))
        if "forward" in measures:
            result |= {"rounds": args.rounds, "time": pattern_cost.measure_times(workload, *grid, args.rounds)}
            result["growth"] = pattern_cost.growth(result["time"])
            print(time_table(result["time"]), growth_table(result["growth"]), sep="\n\n")
    if args.json:
        write_result(args.json, "pattern-cost", result)


def memory_table(rows):
    """One line per system and length."""
    lines = [["encoding", "pattern", "length", "memory"]]
    lines += [[*system_of(row), str(row["length"]), f"{row['bytes'] / 2**20:.0f} MiB"] for row in rows]
    return "\n".join(aligned(lines, left=2))


def time_table(rows):
    """One line per system and length."""
    lines = [["encoding", "pattern", "length", "model s", "attention s"]]
    for row in rows:
        seconds = (f"{row[name]:.3f}" for name in ("seconds", "attention_seconds"))
        lines.append([*system_of(row), str(row["length"]), *seconds])
    return "\n".join(aligned(lines, left=2))


def growth_table(records):
    """One line per system: the exponents of its time, and the speed-up of its attention over full attention."""
    lines = [["encoding", "pattern", "model ~ length^", "attention ~ length^", "full attention / this"]]
    for record in records:
        exponents = (f"{record[name]:.2f}" if name in record else "-" for name in ("exponent", "attention_exponent"))
        speedup = ", ".join(f"{ratio:.1f} at {length}" for length, ratio in record.get("speedup", {}).items())
        lines.append([*system_of(record), *exponents, speedup])
    return "\n".join(aligned(lines, left=2))


def system_of(row):
    return row["encoding"], row["pattern"]
