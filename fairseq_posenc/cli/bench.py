"""Speed and memory of encodings relative to stock fairseq's sinusoidal Transformer, or of attention patterns.

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

  fairseq-posenc bench --measure forward,memory --encodings sinusoidal,shaw,t5 --json cost.json
  fairseq-posenc plot cost.json --output figure2
  fairseq-posenc bench --task language_modeling --measure training --encodings alibi,xpos --length 512 --sentences 2
  fairseq-posenc bench --patterns full,blockwise:512 --encodings none,xpos,alibi --json patterns.json
  fairseq-posenc bench --patterns full --measure memory --lengths 8192 --encodings alibi,t5 --json memory.json
"""

from pathlib import Path

from fairseq_posenc.cli import patterns
from fairseq_posenc.cli.devices import add_device_arguments, check_device
from fairseq_posenc.cli.lists import numbers, words
from fairseq_posenc.encodings import encoding_class, encoding_names
from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import check_json_target
from fairseq_posenc.results import write_result
from fairseq_posenc.tables import aligned

MEASURES = ("training", "generation", "forward", "memory")
TASKS = ("translation", "language_modeling")
#: Options without --patterns, with their defaults; they are an error with --patterns.
SYSTEM_DEFAULTS = {"task": "translation", "size": None, "length": 32, "sentences": 32, "beam": None}
#: Upper limits of options; larger values fit no machine.
MOST = {"vocabulary": 10_000_000, "length": 1_000_000, "sentences": 1_000_000, "beam": 1000, "rounds": 10_000}


def add_arguments(parser):
    parser.add_argument(
        "--measure",
        type=words,
        metavar="MEASURE,MEASURE",
        help=f"any of {', '.join(MEASURES)} (default: all but forward; with --patterns: forward)",
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
        help="measured rounds, after one warm-up round (default: 7; with --patterns: 5)",
    )
    add_device_arguments(parser)
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the results to this file")
    systems = parser.add_argument_group("encodings relative to stock fairseq")
    systems.add_argument("--task", choices=TASKS, help="default: translation")
    systems.add_argument("--size", help="architecture size (default: wmt_en_de; for language models: base)")
    systems.add_argument("--length", type=int, metavar="N", help="tokens per sentence (default: 32)")
    systems.add_argument("--sentences", type=int, metavar="N", help="sentences per batch (default: 32)")
    systems.add_argument("--beam", type=int, metavar="N", help="beam size of generation (default: 4)")
    pattern_group = parser.add_argument_group("attention patterns by length")
    pattern_group.add_argument(
        "--patterns",
        type=words,
        nargs="?",
        const=patterns.PATTERNS,
        metavar="PATTERN,PATTERN",
        help=f"measure attention patterns: full, window:W, blockwise:L (default value: {','.join(patterns.PATTERNS)})",
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
    defaults, refused, needs = (
        (patterns.DEFAULTS, SYSTEM_DEFAULTS, "without")
        if args.patterns
        else (SYSTEM_DEFAULTS, patterns.DEFAULTS, "with")
    )
    for name in refused.keys() - defaults.keys():
        if getattr(args, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} is for measurements {needs} --patterns; leave one of the two out")
    for name, default in defaults.items():
        if getattr(args, name) is None:
            setattr(args, name, default)
    if args.json:
        check_json_target(args.json)
    if args.patterns:
        patterns.run(args)
    else:
        run_systems(args)


def run_systems(args):
    """Measure encodings relative to stock fairseq."""
    translates = args.task == "translation"
    measures = [name for name in MEASURES if translates or name != "generation"]
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
    for argument in MOST:
        value = getattr(args, argument)
        if value is not None and value < 1:
            raise InputError(f"--{argument} must be at least 1, but is {value}")
        if value is not None and value > MOST[argument]:
            raise InputError(f"--{argument} must be at most {MOST[argument]}, but is {value}")
    # fairseq takes seconds to import: only after the arguments have been checked.
    import torch

    from fairseq_posenc.analysis import cost
    from fairseq_posenc.analysis.precision import missing_kernels_in_one_line
    from fairseq_posenc.analysis.workload import STOCK, LanguageModels, Translation
    from fairseq_posenc.models import language_model, transformer

    kind = Translation if translates else LanguageModels
    size = args.size or kind.size
    # wiki103 has an adaptive softmax, so there are no logits for a plain cross-entropy.
    sizes = transformer.SIZES if translates else [name for name in language_model.SIZES if name != "wiki103"]
    if size not in sizes:
        raise InputError(f"--size must be one of {', '.join(sizes)}, but is {size}")
    check_device(args.device)

    workload = kind(
        vocab_size=args.vocabulary,
        device=args.device,
        precision=args.precision,
        size=size,
        length=args.length,
        sentences=args.sentences,
        beam=args.beam,
    )
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
