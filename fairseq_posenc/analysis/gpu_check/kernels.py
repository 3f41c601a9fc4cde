"""The kernels of scaled dot-product attention that PyTorch chooses for self-attention, in training with fp16."""

from torch.profiler import ProfilerActivity, profile, record_function

from fairseq_posenc.analysis.gpu_check.cases import batch, build, cases, moved

TITLE = "kernels: self-attention in an fp16 training step"
PREFIX = "aten::_scaled_dot_product_"
NAMES = {
    "flash_attention": "flash",
    "efficient_attention": "memory-efficient",
    "cudnn_attention": "cuDNN",
    "attention_math": "math",
    "flash_attention_for_cpu": "flash of the CPU",
}


def rows(sizes, systems, families):
    for system, family in cases(sizes, systems, families):
        model, (inputs, _) = build(sizes, system, family).half().to(sizes.device), batch(sizes, family)
        yield {"system": system, "family": family, "kernels": kernels_of(model, moved(inputs, sizes.device))}


def kernels_of(model, inputs):
    """{"encoder": kernels, "decoder": kernels}: all kernels of their self-attention in a forward pass."""
    sides = [side for side in ("encoder", "decoder") if hasattr(model, side)]
    for side in sides:
        for layer in getattr(model, side).layers:
            label(layer.self_attn, side)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        model(*inputs)
    kernels = {side: set() for side in sides}
    for event in profiler.events():
        if event.name.startswith(PREFIX):
            parent = event.cpu_parent
            while parent is not None and parent.name not in kernels:
                parent = parent.cpu_parent
            if parent is not None:
                name = event.name[len(PREFIX) :]
                kernels[parent.name].add(NAMES.get(name, name))
    return {side: sorted(names) or ["own products"] for side, names in kernels.items()}


def label(module, name):
    """Label the profiler's events inside ``module``."""
    labels = []

    def enter(*_):
        labels.append(record_function(name))
        labels[-1].__enter__()

    module.register_forward_pre_hook(enter)
    module.register_forward_hook(lambda *_: labels.pop().__exit__(None, None, None))


def line(row):
    text = "; ".join(f"{side}: {', '.join(names)}" for side, names in row["kernels"].items())
    return f"{row['system']:<18} {row['family']:<14}  {text}"
