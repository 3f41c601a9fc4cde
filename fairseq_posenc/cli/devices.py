"""The options --device and --precision of measurements."""

from fairseq_posenc.errors import InputError

PRECISIONS = ("fp32", "fp16", "bf16", "amp")


def add_device_arguments(parser):
    """Add --device and --precision."""
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="fp32",
        help="as fairseq's --fp16, --bf16, --amp (default: fp32; on a CPU, amp is autocast to bf16)",
    )


def check_device(device):
    """Raise InputError if PyTorch does not have this device."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: PyTorch sees no GPU; leave the option out to measure on the CPU")
