"""Training in half precision, and with several processes, above all on machines without a GPU (or with --cpu)."""

import functools
import gc
import importlib.util
import sys

from fairseq_compat.overlay import Overlay
from fairseq_compat.registry import patch


@patch(
    "bf16_without_tpu",
    "fairseq.options",
    fault="--bf16: fairseq sets tpu=True: NameError: xm (or AttributeError: xla_device)",
    since="fairseq itself, where torch_xla is absent",
    needed=lambda module: importlib.util.find_spec("torch_xla") is None,
)
def bf16_without_tpu(module):
    """Treat --bf16 as a precision, not as a device."""
    stock = module.parse_args_and_arch

    @functools.wraps(stock)
    def parse_args_and_arch(parser, input_args=None, *args, **options):
        parsed = stock(parser, input_args, *args, **options)
        namespace = parsed[0] if isinstance(parsed, tuple) else parsed
        argv = sys.argv[1:] if input_args is None else input_args
        if getattr(namespace, "bf16", False) and "--tpu" not in argv:
            namespace.tpu = False
        return parsed

    module.parse_args_and_arch = parse_args_and_arch


def _no_cuda(module):
    import torch

    return not torch.cuda.is_available()


@patch(
    "half_precision_without_cuda",
    "fairseq.optim.fp16_optimizer",
    fault="--fp16, --bf16: AssertionError: Torch not compiled with CUDA enabled; with a GPU and --cpu: trains nothing",
    since="fairseq itself, without a GPU or with --cpu",
)
def half_precision_without_cuda(module):
    """Store the fp32 copy of the parameters under the index of their own device, where gradients are looked up.

    The index of the CPU is None.
    """
    mixin = module._FP16OptimizerMixin
    stock, torch = mixin.build_fp32_params.__func__, module.torch

    def build_fp32_params(cls, args, params, flatten=True):
        cuda = Overlay(torch.cuda, current_device=lambda: params[0].device.index)
        module.torch = Overlay(torch, cuda=cuda)
        try:
            return stock(cls, args, params, flatten)
        finally:
            module.torch = torch

    mixin.build_fp32_params = classmethod(build_fp32_params)


@patch(
    "overflow_without_cuda",
    "fairseq.trainer",
    fault="--fp16: at the first overflow of a gradient: AssertionError: Torch not compiled with CUDA enabled",
    since="fairseq itself, without a GPU",
    needed=_no_cuda,
)
def overflow_without_cuda(module):
    """Keep the gradient norm of a skipped update on its device, instead of moving it to the GPU."""
    stock = module.torch

    class Stays(stock.Tensor):
        def cuda(self, *args, **options):
            return self

    module.torch = Overlay(stock, tensor=lambda *args, **options: stock.tensor(*args, **options).as_subclass(Stays))


@patch(
    "scalar_noise_without_cuda",
    "fairseq.modules.quantization.scalar.ops",
    fault="--quant-noise-scalar: AssertionError: Torch not compiled with CUDA enabled",
    since="fairseq itself, without a GPU",
    needed=_no_cuda,
)
def scalar_noise_without_cuda(module):
    """Keep scale and zero point on the device of PyTorch's observers, instead of moving them to the GPU."""
    tensor, observer = module.torch.Tensor, module.quantization.observer

    class Stays(tensor):
        def cuda(self, *args, **options):
            return self.as_subclass(tensor)

    def staying(stock):
        class Observer(stock):
            def calculate_qparams(self):
                return tuple(number.as_subclass(Stays) for number in super().calculate_qparams())

        return Observer

    names = ("HistogramObserver", "MinMaxObserver")
    observers = Overlay(observer, **{name: staying(getattr(observer, name)) for name in names})
    module.quantization = Overlay(module.quantization, observer=observers)


@patch(
    "amp_unscales_once",
    "fairseq.optim.amp_optimizer",
    fault="--amp: gradients are divided by the loss scale twice, by 128 x 128 at the start, which Adam alone hides",
    since="fairseq itself",
)
def amp_unscales_once(module):
    """Step with the optimizer that gradient clipping has unscaled; the scaler identifies optimizers by id."""

    def step(self):
        self.scaler.step(self.optimizer)
        self.scaler.update()

    module.AMPOptimizer.step = step


@patch(
    "ddp_on_cpu",
    "fairseq.models.distributed_fairseq_model",
    fault="two CPU processes, default --ddp-backend: ValueError: DistributedDataParallel device_ids ... only for GPU",
    since="fairseq itself, without a GPU",
)
def ddp_on_cpu(module):
    """Pass no devices for a module whose parameters are on the CPU."""
    stock = module.DistributedDataParallel

    class DistributedDataParallel(stock):
        def __init__(self, module, *args, **options):
            if all(parameter.device.type == "cpu" for parameter in module.parameters()):
                options.update(device_ids=None, output_device=None)
            super().__init__(module, *args, **options)

    module.DistributedDataParallel = DistributedDataParallel


@patch(
    "spawn_on_cpu",
    "fairseq.distributed.utils",
    fault="--cpu --distributed-world-size 2: AssertionError: world size is 2 but have 0 available devices",
    since="fairseq itself, without a GPU or with --cpu",
)
def spawn_on_cpu(module):
    """Start as many processes as are asked for, where fairseq would start one per GPU."""
    stock, torch = module.call_main, module.torch

    @functools.wraps(stock)
    def call_main(cfg, main, **options):
        count = cfg.distributed_training.distributed_world_size
        if cfg.common.cpu or not torch.cuda.is_available():
            module.torch = Overlay(module.torch, cuda=Overlay(torch.cuda, device_count=lambda: count))
        return stock(cfg, main, **options)

    module.call_main = call_main


@patch(
    "process_group_at_exit",
    "fairseq.distributed.utils",
    fault="several processes: at the end of a good run, now and then: terminate called without an active exception, "
    "or no end at all",
    since="fairseq itself, which leaves the threads of its process groups running",
)
def process_group_at_exit(module):
    """Destroy the process groups after a successful run; after a failure other processes may still use them."""
    stock = module.distributed_main

    @functools.wraps(stock)
    def distributed_main(*args, **options):
        result = stock(*args, **options)
        if module.dist.is_initialized():
            # A group's threads end with the last reference to it. Where DistributedDataParallel, a cycle, has the last
            # one, it waits for them without letting go of Python's lock, which they may need (PyTorch's issue 56297).
            groups = [module.dist.group.WORLD, vars(module.get_global_group).pop("_global_group", None)]
            module.dist.destroy_process_group()
            gc.collect()
            del groups
        return result

    module.distributed_main = distributed_main
