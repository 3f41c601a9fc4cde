"""``fairseq-posenc bench --commands``: whole commands of fairseq, as users run them."""

import difflib
import tempfile
from pathlib import Path

from fairseq_posenc.cli.devices import check_device
from fairseq_posenc.cli.workloads import check_numbers, workload_of
from fairseq_posenc.encodings import encoding_class, encoding_names
from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import write_json
from fairseq_posenc.results import new_result
from fairseq_posenc.tables import aligned

#: Command -> its tasks.
COMMANDS = {
    "train": ("translation", "language_modeling"),
    "train-stock-flags": ("translation", "language_modeling"),
    "generate": ("translation",),
    "eval-lm": ("language_modeling",),
}
DEFAULTS = {"task": "translation", "size": None, "length": None, "sentences": None, "beam": None, "batches": 8}
#: Task -> tokens per sentence, sentences per batch.
BATCH = {"translation": (32, 32), "language_modeling": (512, 2)}
#: One to allocate memory, one to record matrix products, one to time.
FEWEST_BATCHES = 3


def run(args):
    commands = commands_of(args)
    encodings = list(dict.fromkeys(encoding_class(name).name for name in args.encodings or encoding_names()))
    length, sentences = BATCH[args.task]
    args.length = length if args.length is None else args.length
    args.sentences = sentences if args.sentences is None else args.sentences
    args.vocabulary = 40_000 if args.vocabulary is None else args.vocabulary
    args.rounds = 3 if args.rounds is None else args.rounds
    if "generate" in commands:
        args.beam = 4 if args.beam is None else args.beam
    elif args.beam is not None:
        raise InputError(f"--beam {args.beam} is for --commands generate, but --commands is {','.join(commands)}")
    check_numbers(args, least={"batches": FEWEST_BATCHES, "length": 2})
    check_precision(args.precision, commands)
    # fairseq takes seconds to import: only after the arguments have been checked.
    import torch

    from fairseq_posenc.analysis.commands.arguments import Runs
    from fairseq_posenc.analysis.commands.comparison import compare
    from fairseq_posenc.analysis.cost import check_limits

    workload = workload_of(args)
    check_device(args.device)
    check_limits(workload, encodings, generates="generate" in commands)
    settings = {"task": args.task, **workload.settings(), "batches": args.batches, "threads": torch.get_num_threads()}
    result = new_result("command-cost", {"workload": settings, "commands": {}})

    def save(found):
        result["commands"] = found
        if args.json:
            write_json(args.json, result)

    with tempfile.TemporaryDirectory(prefix="fairseq-posenc-") as folder:
        found = compare(Runs(workload, args.batches, Path(folder)), commands, encodings, args.rounds, save)
    print("\n\n".join(f"{command}\n{table(of_command)}" for command, of_command in found.items()))


def commands_of(args):
    """The commands to measure, each once; by default all of the task. Raises InputError for others."""
    known = [name for name, tasks in COMMANDS.items() if args.task in tasks]
    for name in args.commands:
        if name not in COMMANDS:
            near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise InputError(f"--commands: unknown command {name!r}{hint}; known commands: {', '.join(COMMANDS)}")
        if name not in known:
            other = COMMANDS[name][0]
            raise InputError(
                f"--commands {name} is for --task {other}, but --task is {args.task}; "
                f"its commands are {', '.join(known)}"
            )
    return list(dict.fromkeys(args.commands)) or known


def check_precision(precision, commands):
    """Raise InputError if a command has no flag for this precision."""
    for command in commands:
        if command in ("generate", "eval-lm") and precision not in ("fp32", "fp16"):
            raise InputError(
                f"--precision {precision}: fairseq-{command} has only --fp16; give --precision fp32 or fp16, or "
                f"leave {command} out of --commands"
            )


def table(found):
    """Two tables of a command: speed and memory of each system, and seconds per batch by part."""
    systems, unit = found["systems"], found["unit"]
    header = ["system", f"{unit}/s", "to stock", "quartiles", "products alone", "process s", "to stock", "peak MiB"]
    rows, parts = [header], [["seconds per batch", *next(iter(systems.values()))["profile"]["parts"]]]
    for name, measured in systems.items():
        first, third = measured["ratio_quartiles"]
        rows.append(
            [
                name,
                f"{measured['rate']:.4g}",
                f"{measured['ratio_to_stock']:.3f}x",
                f"{first:.3f}-{third:.3f}",
                f"{measured['bound']:.4g}",
                f"{measured['process_seconds']:.1f}",
                f"{measured['process_ratio_to_stock']:.3f}x",
                f"{measured['peak_bytes'] / 2**20:.0f}",
            ]
        )
        parts.append([name, *(f"{seconds:.4f}" for seconds in measured["profile"]["parts"].values())])
    return "\n".join([*aligned(rows), "", *aligned(parts)])
