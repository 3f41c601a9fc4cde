"""Speed and memory of the encodings relative to stock fairseq's sinusoidal Transformer.

--measure names what is measured: "training" (one update), "generation" (beam search), "forward" (the forward pass of
one fixed batch, ten times: Figure 2 of the PosNet paper), "memory" (the peak of two updates in a process of its own:
the process's memory on a CPU, PyTorch's on a GPU; Table 3 of the paper). Of language models: all but generation.

Systems take turns in one run; times are medians and quartiles over the rounds, and the ratio is the median over rounds
of the ratio to stock in the same round. --precision fp16 and bf16 train as fairseq does, with a copy of the parameters
in fp32; amp autocasts all measures.

  fairseq-posenc bench --measure forward,memory --encodings sinusoidal,shaw,t5 --json cost.json
  fairseq-posenc plot cost.json --output figure2
  fairseq-posenc bench --task language_modeling --measure training --encodings alibi,xpos --length 512 --sentences 2
"""

from pathlib import Path

from fairseq_posenc.cli.devices import add_device_arguments, check_device
from fairseq_posenc.cli.lists import words
from fairseq_posenc.encodings import encoding_class, encoding_names
from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import check_json_target
from fairseq_posenc.results import write_result
from fairseq_posenc.tables import aligned

MEASURES = ("training", "generation", "forward", "memory")
TASKS = ("translation", "language_modeling")
#: The largest numbers; beyond them no machine measures anything.
MOST = {"vocabulary": 10_000_000, "length": 1_000_000, "sentences": 1_000_000, "beam": 1000, "rounds": 10_000}


def add_arguments(parser):
    parser.add_argument(
        "--measure",
        type=words,
        metavar="WHAT,WHAT",
        help=f"of {', '.join(MEASURES)} (default: training, generation of translations, memory)",
    )
    parser.add_argument("--task", choices=TASKS, default="translation", help="default: translation")
    parser.add_argument("--encodings", type=words, metavar="NAME,NAME", help="which encodings (default: all)")
    parser.add_argument("--size", help="architecture size (default: wmt_en_de; of language models: base)")
    parser.add_argument("--vocabulary", type=int, default=40_000, help="words (default: %(default)s, the papers')")
    parser.add_argument("--length", type=int, default=32, help="tokens a sentence (default: %(default)s)")
    parser.add_argument("--sentences", type=int, default=32, help="sentences a batch (default: %(default)s)")
    parser.add_argument("--beam", type=int, help="beam size of generation (default: 4)")
    parser.add_argument("--rounds", type=int, default=7, help="measured rounds, after one to warm up (default: 7)")
    add_device_arguments(parser)
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write all numbers to this file")


def run(args):
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
    for argument in MOST:
        value = getattr(args, argument)
        if value is not None and value < 1:
            raise InputError(f"--{argument} must be at least 1, but is {value}")
        if value is not None and value > MOST[argument]:
            raise InputError(f"--{argument} must be at most {MOST[argument]}, but is {value}")
    if args.json:
        check_json_target(args.json)
    # fairseq takes seconds to import: only after the arguments have been checked.
    import torch

    from fairseq_posenc.analysis import cost
    from fairseq_posenc.analysis.precision import missing_kernels_in_one_line
    from fairseq_posenc.models import language_model, transformer

    kind = cost.Workload if translates else cost.LanguageModelWorkload
    size = args.size or kind.size
    # wiki103 has no output for a plain loss: its softmax is adaptive.
    sizes = transformer.SIZES if translates else [name for name in language_model.SIZES if name != "wiki103"]
    if size not in sizes:
        raise InputError(f"--size must be one of {', '.join(sizes)}, but is {size}")
    check_device(args.device)

    workload = kind(size, args.vocabulary, args.length, args.sentences, args.beam, args.device, args.precision)
    cost.check_limits(workload, encodings, generates=generates)
    runs = {"training": cost.TrainingStep, "generation": cost.Generation, "forward": cost.Forward}
    times = {}
    with missing_kernels_in_one_line(args.precision):
        memory = cost.compare_memory(workload, encodings) if "memory" in asked else None
        for measure in measures:
            if measure in runs and measure in asked:
                times[measure] = cost.compare_times(workload, encodings, runs[measure], args.rounds)
    print(table([cost.STOCK, *encodings], times, memory))
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
