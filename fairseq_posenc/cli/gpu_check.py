"""The first check of a new GPU: does it agree with the CPU, which kernels does it use, and how fast is it?

  parity    outputs and gradients in fp32, fp16, bf16 and amp, compared with fp32 on the CPU
  kernels   the kernels of scaled dot-product attention
  beam      beam search, compared with the CPU
  syncs     how often the host waits for the device, compared with stock fairseq
  training  fairseq-train --fp16 --update-freq 8 at base size, compared with stock fairseq
  lengths   one decoder layer at 2k, 8k and 32k tokens

Without a GPU the check runs tiny models on the CPU. Exit status: 1 if parity or beam search differ or a training run
fails, else 0.

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
    parser.add_argument("--only", type=words, default=PARTS, metavar="PART,PART", help=f"any of {', '.join(PARTS)}")
    parser.add_argument("--encodings", type=words, metavar="NAME,NAME", help="encodings to check (default: all)")
    parser.add_argument(
        "--families",
        type=words,
        default=FAMILIES,
        metavar="NAME,NAME",
        help=f"any of {', '.join(FAMILIES)}: encoder-decoders, and language models by pattern (default: all)",
    )
    parser.add_argument(
        "--json",
        type=Path,
        default=Path("gpu_check.json"),
        metavar="OUT",
        help="file for the results, updated after every measurement (default: %(default)s)",
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
        print("gpu_check: no GPU; measuring tiny models on the CPU", flush=True)
    sizes = sizes_of("cuda" if gpu else "cpu")
    result = new_result("gpu-check", {"sizes": sizes.settings(), "finished": []})
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
    print(f"\nresults: {args.json}" + (f"; wrong: {', '.join(dict.fromkeys(wrong))}" if wrong else ""))
    return 1 if wrong else 0
