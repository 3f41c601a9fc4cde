"""Write a trained model for another program.

--to ctranslate2    a folder for ctranslate2.Translator or ctranslate2.Generator: fast on CPUs and GPUs, also in int8.
                    Encodings: sinusoidal, learned, none, shaw, t5, rope; alibi in a decoder.
     huggingface    a folder for transformers' from_pretrained, with a tokenizer, as a model that transformers has.
     torch-export   programs of torch.export, for every encoding, for sentences that are padded to --length tokens.

Words are those of the dictionaries: tokenisation and subwords remain outside. What a target cannot express is refused.

  fairseq-posenc export checkpoints/checkpoint_best.pt --to ctranslate2 --quantization int8 --output model
"""

import importlib.util
import logging

from fairseq_posenc.errors import InputError
from fairseq_posenc.outputs import check_new_folder, new_folder

#: Target -> the packages that it needs.
TARGETS = {"ctranslate2": ("ctranslate2",), "huggingface": ("transformers", "safetensors"), "torch-export": ()}
#: CTranslate2's names for the types of weights.
QUANTIZATIONS = (
    *("float32", "float16", "bfloat16", "int16"),
    *("int8", "int8_float32", "int8_float16", "int8_bfloat16"),
)


def add_arguments(parser):
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="written by fairseq-train")
    parser.add_argument("--to", choices=tuple(TARGETS), required=True, help="see above")
    parser.add_argument("--output", required=True, metavar="DIR", help="new folder for the model")
    parser.add_argument(
        "--data", metavar="DATA", help="folder with the dictionaries (default: the one of the training)"
    )
    parser.add_argument(
        "--quantization", choices=QUANTIZATIONS, help="of the weights for ctranslate2 (default: float32)"
    )
    parser.add_argument(
        "--length", type=int, metavar="N", help="tokens of a sentence with its padding, for torch-export (default: 128)"
    )
    parser.add_argument("--model-overrides", default="{}", metavar="DICT", help="as in fairseq-generate")


def run(args):
    what = f"--output {args.output}"
    check_new_folder(what, args.output)
    for option, target in (("quantization", "ctranslate2"), ("length", "torch-export")):
        value = getattr(args, option)
        if value is not None and args.to != target:
            raise InputError(f"--{option} {value} is an option of --to {target}; leave it out")
    missing = [package for package in TARGETS[args.to] if importlib.util.find_spec(package) is None]
    if missing:
        raise InputError(
            f"--to {args.to} needs {' and '.join(missing)}; install with: pip install 'fairseq-posenc[{args.to}]'"
        )
    # fairseq takes seconds to import: only after the arguments have been checked.
    from fairseq_posenc.analysis.language_model import read_overrides
    from fairseq_posenc.export.checkpoint import load_trained

    logging.getLogger("fairseq").setLevel(logging.WARNING)  # it logs the sizes of dictionaries
    overrides = read_overrides(args.model_overrides)
    trained = load_trained(args.checkpoint, args.data, overrides)
    write = writer(args)
    with new_folder(what, args.output) as folder:
        write(trained, folder)
    print(f"{args.output}: {args.checkpoint} for {args.to}")


def writer(args):
    """The function that writes a trained model into a folder."""
    if args.to == "ctranslate2":
        from fairseq_posenc.export import ctranslate2_model

        return lambda trained, folder: ctranslate2_model.write(trained, folder, args.quantization)
    if args.to == "huggingface":
        from fairseq_posenc.export import hugging_face

        return hugging_face.write
    from fairseq_posenc.export import torch_programs

    length = 128 if args.length is None else args.length
    return lambda trained, folder: torch_programs.write(trained, folder, length)
