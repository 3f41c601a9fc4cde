"""Contradictory precision flags, reported in one line before data and model are loaded; gradients that are NaN."""

import functools
import sys

from fairseq_compat.registry import patch

#: Precision -> the settings that select it.
SETTINGS = {"fp16": ("memory_efficient_fp16", "fp16"), "bf16": ("memory_efficient_bf16", "bf16"), "amp": ("amp",)}


class PrecisionError(ValueError):
    """Contradictory precision flags; the message is one line with the cure."""

    one_line = True


def check_precisions(is_set):
    """Raise PrecisionError if the settings for which ``is_set(name)`` is true select several precisions."""
    selected = [next(filter(is_set, names), None) for names in SETTINGS.values()]
    flags = [f"--{name.replace('_', '-')}" for name in selected if name]
    if len(flags) > 1:
        raise PrecisionError(
            f"{', '.join(flags[:-1])} and {flags[-1]} are different precisions; give one of them: --fp16 and --bf16 "
            "keep parameters in half precision, --amp in fp32"
        )


@patch(
    "one_precision",
    "fairseq.options",
    "fairseq.distributed.utils",
    fault="--amp --bf16: trains without a copy of the parameters in fp32, silently; other pairs: tracebacks, some late",
    since="fairseq itself",
)
def one_precision(module):
    """Reject two precisions on the command line and in the configurations of fairseq-hydra-train."""
    if hasattr(module, "call_main"):
        _check_configurations(module)
    else:
        _check_command_lines(module)


def _check_command_lines(module):
    stock = module.parse_args_and_arch

    @functools.wraps(stock)
    def parse_args_and_arch(parser, input_args=None, *args, **options):
        argv = sys.argv[1:] if input_args is None else input_args
        check_precisions(lambda name: f"--{name.replace('_', '-')}" in argv)
        return stock(parser, input_args, *args, **options)

    module.parse_args_and_arch = parse_args_and_arch


def _check_configurations(module):
    stock = module.call_main

    @functools.wraps(stock)
    def call_main(cfg, *args, **options):
        common = cfg.common
        check_precisions(lambda name: getattr(common, name, False))
        if (common.fp16 or common.amp) and common.fp16_init_scale <= 0:
            raise PrecisionError(
                f"--fp16-init-scale must be above 0, but is {common.fp16_init_scale}; 128 is usual, and the default"
            )
        return stock(cfg, *args, **options)

    module.call_main = call_main


@patch(
    "nan_detector",
    "fairseq.nan_detector",
    fault="training that ends because gradients are NaN: StopIteration in place of the reason",
    since="fairseq 0.10, whose encoders return dictionaries of lists",
)
def nan_detector(module):
    """Watch the gradients of modules without parts alone, whose outputs PyTorch's hooks can read."""

    def add_hooks(self, module):
        if self.forward:
            self.fhooks.append(module.register_forward_hook(self.fhook_fn))
        if self.backward and not any(module.children()):
            self.bhooks.append(module.register_backward_hook(self.bhook_fn))

    module.NanDetector.add_hooks = add_hooks
