"""Speed and memory of encodings relative to stock fairseq's sinusoidal Transformer, of attention patterns, or of whole
commands.

--measure chooses the measurements: "training" (one update), "generation" (beam search), "forward" (ten forward passes
of one fixed batch, Figure 2 of the PosNet paper), "memory" (peak memory of two updates in a separate process: of the
process on a CPU, of PyTorch on a GPU; Table 3 of the paper). Language models have all of these except generation.

Systems take turns in one run. Times are medians and quartiles over the rounds; the ratio is the median over rounds of
the ratio to stock fairseq in the same round. --precision fp16 and bf16 train as fairseq does, with a copy of the
parameters in fp32; amp autocasts all measurements.

With --patterns, an untrained language model reads one text of each of --lengths, at inference. "forward" is then one
forward pass, timed for the whole model and for attention alone (between the projections); "memory" is the peak above
the model's own memory. The output also shows how time grows with the length (an exponent of 1 is linear) and the
speed-up over full attention.

With --commands, fairseq's own commands run as users run them, each in a process of its own, on data written for it:
"train" is fairseq-train, with this package's criterion and optimizer for its encodings; "train-stock-flags" is
fairseq-train with fairseq's criterion and optimizer for all; "generate" is fairseq-generate on checkpoints of one
update; "eval-lm" is fairseq-eval-lm. The output shows speed as the command itself reports it, the time and peak memory
of the process, the time by part, and the speed that matrix products alone would allow, timed on the same machine.

  fairseq-posenc bench --measure forward,memory --encodings sinusoidal,shaw,t5 --json cost.json
  fairseq-posenc plot cost.json --output figure2
  fairseq-posenc bench --task language_modeling --measure training --encodings alibi,xpos --length 512 --sentences 2
  fairseq-posenc bench --patterns full,blockwise:512 --encodings none,xpos,alibi --json patterns.json
  fairseq-posenc bench --patterns full --measure memory --lengths 8192 --encodings alibi,t5 --json memory.json
  fairseq-posenc bench --commands train,generate --encodings sinusoidal,alibi --json commands.json
"""

from pathlib import Path

from fairseq_posenc.attention.patterns import FORMS, pattern_list
from fairseq_posenc.cli import commands, patterns
from fairseq_posenc.cli.devices import add_device_arguments, check_device
from fairseq_posenc.cli.lists import numbers, words
from fairseq_posenc.cli.workloads import TASKS, check_numbers, workload_of
from fairseq_posenc.encodings import encoding_class, encoding_names
from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import check_json_target
from fairseq_posenc.results import write_result
from fairseq_posenc.tables import aligned

MEASURES = ("training", "generation", "forward", "memory")
#: Kind of measurement -> its options that not all kinds have, with their defaults; others are an error.
OPTIONS = {
    "": {"measure": None, "task": "translation", "size": None, "length": 32, "sentences": 32, "beam": None},
    "--patterns": {"measure": None, **patterns.DEFAULTS},
    "--commands": commands.DEFAULTS,
}


def add_arguments(parser):
    parser.add_argument(
        "--measure",
        type=words,
        metavar="MEASURE,MEASURE",
        help=f"any of {', '.join(MEASURES)} (default: all but forward; with --patterns: forward; not with --commands)",
    )
    parser.add_argument(
        "--encodings",
        type=words,
        metavar="NAME,NAME",
        help='encodings to measure (default: all; with --patterns: the encoding "none")',
    )
    parser.add_argument(
        "--vocabulary",
        type=int,
        metavar="N",
        help="vocabulary size (default: 40000, as in the papers; with --patterns: 1000)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        metavar="N",
        help="measured rounds, after one warm-up round (default: 7; with --patterns: 5; with --commands: 3)",
    )
    add_device_arguments(parser)
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the results to this file")
    systems = parser.add_argument_group("encodings relative to stock fairseq")
    systems.add_argument("--task", choices=TASKS, help="default: translation")
    systems.add_argument("--size", help="architecture size (default: wmt_en_de; for language models: base)")
    long, few = commands.BATCH["language_modeling"]
    systems.add_argument(
        "--length",
        type=int,
        metavar="N",
        help=f"tokens per sentence, with --commands at most (default: 32; language models with --commands: {long})",
    )
    systems.add_argument(
        "--sentences",
        type=int,
        metavar="N",
        help=f"sentences per batch (default: 32; language models with --commands: {few})",
    )
    systems.add_argument("--beam", type=int, metavar="N", help="beam size of generation (default: 4)")
    command_group = parser.add_argument_group("whole commands relative to stock fairseq")
    command_group.add_argument(
        "--commands",
        type=words,
        nargs="?",
        const=[],
        metavar="COMMAND,COMMAND",
        help=f"measure whole commands: {', '.join(commands.COMMANDS)} (default value: all of the task)",
    )
    command_group.add_argument(
        "--batches",
        type=int,
        metavar="N",
        help=f"batches per run, in training updates (default: {commands.DEFAULTS['batches']})",
    )
    pattern_group = parser.add_argument_group("attention patterns by length")
    pattern_group.add_argument(
        "--patterns",
        type=pattern_list,
        nargs="?",
        const=patterns.PATTERNS,
        metavar="PATTERN,PATTERN",
        help=f"measure attention patterns: {FORMS} (default value: {','.join(patterns.PATTERNS)})",
    )
    pattern_group.add_argument(
        "--lengths", type=numbers, metavar="N,N", help="text lengths in tokens (default: 1024, 2048, .. 32768)"
    )
    pattern_group.add_argument(
        "--longest-full", type=int, metavar="N", help="skip full attention for longer texts (default: 8192)"
    )
    for name, meaning in (("layers", "layers"), ("dim", "model dimension"), ("heads", "attention heads")):
        default = patterns.DEFAULTS[name]
        pattern_group.add_argument(f"--{name}", type=int, metavar="N", help=f"{meaning} (default: {default})")


def run(args):
    mode = mode_of(args)
    for name in dict.fromkeys(name for options in OPTIONS.values() for name in options):
        if name not in OPTIONS[mode] and getattr(args, name) is not None:
            option = f"--{name.replace('_', '-')}"
            if mode:
                raise InputError(f"{option} is not for measurements with {mode}; leave one of the two out")
            home = next(mode for mode, options in OPTIONS.items() if name in options)
            raise InputError(f"{option} is for measurements with {home}; give both, or leave {option} out")
    for name, default in OPTIONS[mode].items():
        if getattr(args, name) is None:
            setattr(args, name, default)
    if args.json:
        check_json_target(args.json)
    {"": run_systems, "--patterns": patterns.run, "--commands": commands.run}[mode](args)


def mode_of(args):
    """The kind of measurement, one of OPTIONS. Raises InputError if two are asked for."""
    if args.commands is not None and args.patterns:
        raise InputError("--commands and --patterns are two kinds of measurement; leave one of the two out")
    return "--commands" if args.commands is not None else "--patterns" if args.patterns else ""


def run_systems(args):
    """Measure encodings relative to stock fairseq."""
    measures = [name for name in MEASURES if args.task == "translation" or name != "generation"]
    requested = args.measure or [name for name in measures if name != "forward"]
    for measure in requested:
        if measure not in measures:
            raise InputError(f"--measure must be of {', '.join(measures)} for --task {args.task}, but is {measure}")
    generates = "generation" in requested
    if args.beam is None:
        args.beam = 4 if generates else None
    elif not generates:
        raise InputError(f"--beam {args.beam} is for --measure generation, but --measure is {','.join(requested)}")
    encodings = [encoding_class(name).name for name in args.encodings or encoding_names()]
    args.vocabulary = 40_000 if args.vocabulary is None else args.vocabulary
    args.rounds = 7 if args.rounds is None else args.rounds
    check_numbers(args)
    # fairseq takes seconds to import: only after the arguments have been checked.
    import torch

    from fairseq_posenc.analysis import cost
    from fairseq_posenc.analysis.precision import missing_kernels_in_one_line
    from fairseq_posenc.analysis.workload import STOCK

    workload = workload_of(args)
    check_device(args.device)
    cost.check_limits(workload, encodings, generates=generates)
    runs = {"training": cost.TrainingStep, "generation": cost.Generation, "forward": cost.Forward}
    times = {}
    with missing_kernels_in_one_line(args.precision):
        memory = cost.compare_memory(workload, encodings) if "memory" in requested else None
        for measure in measures:
            if measure in runs and measure in requested:
                times[measure] = cost.compare_times(workload, encodings, runs[measure], args.rounds)
    print(table([STOCK, *encodings], times, memory))
    if args.json:
        settings = {"task": args.task, **workload.settings(), "threads": torch.get_num_threads()}
        settings["rounds"] = args.rounds
        memory = {} if memory is None else {"peak_memory_bytes": memory}
        write_result(args.json, "cost", {"workload": settings, **times, **memory})


def table(systems, times, memory):
    """One line per system: tokens per second and relative time of each measure, then peak memory."""
    header = ["system"] + [title for measure in times for title in (f"{measure} tok/s", "time")]
    rows = [header if memory is None else [*header, "memory", ""]]
    for name in systems:
        row = [name]
        for measured in times.values():
            row += [f"{measured[name]['tokens_per_second']:.0f}", f"{measured[name]['ratio_to_stock']:.3f}x"]
        if memory is not None:
            row += [f"{memory[name] / 2**30:.2f} GiB", f"{memory[name] / memory['stock']:.3f}x"]
        rows.append(row)
    return "\n".join(aligned(rows))
