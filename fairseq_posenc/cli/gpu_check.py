"""What to run first on a new GPU: does it compute what the CPU computes, by which kernels, how fast?

  parity    outputs and gradients in fp32, fp16, bf16 and amp against fp32 on the CPU
  kernels   the kernels of scaled dot-product attention
  beam      beam search against the CPU's
  syncs     how often the host waits for the device, stock beside
  training  fairseq-train --fp16 --update-freq 8 at base size, stock beside
  lengths   one decoder layer at 2k, 8k and 32k tokens

Without a GPU it measures the CPU at tiny size. Exit status: 1 where parity or beam search differ, or a training fails.

  fairseq-posenc gpu-check --json gpu_check.json
  fairseq-posenc gpu-check --only parity,kernels --encodings alibi,xpos --families translation,full
"""

from pathlib import Path

from fairseq_posenc.cli.lists import words
from fairseq_posenc.encodings import encoding_class, encoding_names
from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import check_json_target, write_json
from fairseq_posenc.results import new_result

PARTS = ("parity", "kernels", "beam", "syncs", "training", "lengths")
FAMILIES = ("translation", "full", "window", "blockwise")


def add_arguments(parser):
    parser.add_argument("--only", type=words, default=PARTS, metavar="PART,PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--encodings", type=words, metavar="NAME,NAME", help="which encodings (default: all)")
    parser.add_argument(
        "--families",
        type=words,
        default=FAMILIES,
        metavar="NAME,NAME",
        help=f"of {', '.join(FAMILIES)}: encoder-decoders, and language models by pattern (default: all)",
    )
    parser.add_argument(
        "--json",
        type=Path,
        default=Path("gpu_check.json"),
        metavar="OUT",
        help="all numbers, written as they come (default: %(default)s)",
    )


def run(args):
    for option, known in (("only", PARTS), ("families", FAMILIES)):
        for name in getattr(args, option):
            if name not in known:
                raise InputError(f"--{option} must be of {', '.join(known)}, but is {name}")
    systems = ["stock", *(encoding_class(name).name for name in args.encodings or encoding_names())]
    check_json_target(args.json)
    # fairseq takes seconds to import: only after the arguments have been checked.
    import torch

    from fairseq_posenc.analysis.gpu_check import PARTS as MODULES
    from fairseq_posenc.analysis.gpu_check.cases import sizes_of

    gpu = torch.cuda.is_available()
    if not gpu:
        print("gpu_check: no GPU; measuring the CPU at tiny size", flush=True)
    sizes = sizes_of("cuda" if gpu else "cpu")
    result = new_result("gpu-check", {"sizes": vars(sizes), "finished": []})
    name = result["device"] = torch.cuda.get_device_name() if gpu else result["hardware"]["cpu"]
    print(f"{name}, PyTorch {torch.__version__}", flush=True)
    wrong = []
    for part in args.only:
        module = MODULES[part]
        print(f"\n{module.TITLE}", flush=True)
        result[part] = []
        for row in module.rows(sizes, systems, args.families):
            print(module.line(row), flush=True)
            result[part].append(row)
            if not row.get("agrees", True) or "error" in row:
                wrong.append(part)
            write_json(args.json, result)
        result["finished"].append(part)
        write_json(args.json, result)
    print(f"\n{args.json} has all numbers" + (f"; wrong: {', '.join(dict.fromkeys(wrong))}" if wrong else ""))
    return 1 if wrong else 0
