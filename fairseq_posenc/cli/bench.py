"""Speed and memory: of the encodings relative to stock fairseq's sinusoidal Transformer, or of attention patterns.

--measure names what is measured: "training" (one update), "generation" (beam search), "forward" (the forward pass of
one fixed batch, ten times: Figure 2 of the PosNet paper), "memory" (the peak of two updates in a process of its own:
the process's memory on a CPU, PyTorch's on a GPU; Table 3 of the paper). Of language models: all but generation.

Systems take turns in one run; times are medians and quartiles over the rounds, and the ratio is the median over rounds
of the ratio to stock in the same round. --precision fp16 and bf16 train as fairseq does, with a copy of the parameters
in fp32; amp autocasts all measures.

With --patterns an untrained language model reads one text of each of --lengths, at inference. "forward" is then one
pass, of the whole model and of its attention alone, all between the projections; "memory" the peak above the model.
How they grow, and how they compare to full attention, is printed too: an exponent of 1 means linear in the length.

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
#: Options that one way of measuring has, with their defaults; the other one refuses them.
OF_SYSTEMS = {"task": "translation", "size": None, "length": 32, "sentences": 32, "beam": None}
#: The largest numbers; beyond them no machine measures anything.
MOST = {"vocabulary": 10_000_000, "length": 1_000_000, "sentences": 1_000_000, "beam": 1000, "rounds": 10_000}


def add_arguments(parser):
    parser.add_argument(
        "--measure",
        type=words,
        metavar="WHAT,WHAT",
        help=f"of {', '.join(MEASURES)} (default: training, generation of translations, memory; of patterns: forward)",
    )
    parser.add_argument("--encodings", type=words, metavar="NAME,NAME", help="which (default: all; of patterns: none)")
    parser.add_argument("--vocabulary", type=int, help="words (default: 40000, the papers'; of patterns: 1000)")
    parser.add_argument("--rounds", type=int, help="measured rounds, after one to warm up (default: 7; of patterns: 5)")
    add_device_arguments(parser)
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write all numbers to this file")
    systems = parser.add_argument_group("encodings relative to stock fairseq")
    systems.add_argument("--task", choices=TASKS, help="default: translation")
    systems.add_argument("--size", help="architecture size (default: wmt_en_de; of language models: base)")
    systems.add_argument("--length", type=int, help="tokens a sentence (default: 32)")
    systems.add_argument("--sentences", type=int, help="sentences a batch (default: 32)")
    systems.add_argument("--beam", type=int, help="beam size of generation (default: 4)")
    of_patterns = parser.add_argument_group("attention patterns by length")
    of_patterns.add_argument(
        "--patterns",
        type=words,
        nargs="?",
        const=patterns.PATTERNS,
        metavar="PATTERN,PATTERN",
        help=f"measure these: full, window:W, blockwise:L (without a value: {','.join(patterns.PATTERNS)})",
    )
    of_patterns.add_argument(
        "--lengths", type=numbers, metavar="N,N", help="tokens of the text (default: 1024, 2048, .. 32768)"
    )
    of_patterns.add_argument(
        "--longest-full", type=int, metavar="N", help="leave out full attention beyond (default: 8192)"
    )
    for name, meaning in (("layers", "layers"), ("dim", "model dimension"), ("heads", "attention heads")):
        default = patterns.DEFAULTS[name]
        of_patterns.add_argument(f"--{name}", type=int, help=f"{meaning} (default: {default})")


def run(args):
    others, other_way = (OF_SYSTEMS, "without") if args.patterns else (patterns.DEFAULTS, "with")
    own = patterns.DEFAULTS if args.patterns else OF_SYSTEMS
    for name in others.keys() - own.keys():
        if getattr(args, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} is for measurements {other_way} --patterns; leave one of the two out")
    for name, default in own.items():
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
    asked = args.measure or [name for name in measures if name != "forward"]
    for measure in asked:
        if measure not in measures:
            raise InputError(f"--measure must be of {', '.join(measures)} for --task {args.task}, but is {measure}")
    generates = "generation" in asked
    if args.beam is None:
        args.beam = 4 if generates else None
    elif not generates:
        raise InputError(f"--beam {args.beam} is for --measure generation, but --measure is {','.join(asked)}")
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
    # wiki103 has no output for a plain loss: its softmax is adaptive.
    sizes = transformer.SIZES if translates else [name for name in language_model.SIZES if name != "wiki103"]
    if size not in sizes:
        raise InputError(f"--size must be one of {', '.join(sizes)}, but is {size}")
    check_device(args.device)

    workload = kind(
        words=args.vocabulary,
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
        memory = cost.compare_memory(workload, encodings) if "memory" in asked else None
        for measure in measures:
            if measure in runs and measure in asked:
                times[measure] = cost.compare_times(workload, encodings, runs[measure], args.rounds)
    print(table([STOCK, *encodings], times, memory))
    if args.json:
        settings = {"task": args.task, **vars(workload), "threads": torch.get_num_threads(), "rounds": args.rounds}
        memory = {} if memory is None else {"peak_memory_bytes": memory}
        write_result(args.json, "cost", {"workload": settings, **times, **memory})


def table(systems, times, memory):
    """One line a system: tokens per second and relative time of each measure, then peak memory."""
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
