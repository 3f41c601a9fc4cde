"""Time and memory of one decoder layer, forward and backward, by the length of the text."""

import statistics

import torch

from fairseq_posenc.analysis.gpu_check.cases import batch, build, moved
from fairseq_posenc.analysis.live_memory import LiveMemory
from fairseq_posenc.analysis.peak_memory import peak_above
from fairseq_posenc.analysis.timer import in_turns

TITLE = "lengths: one decoder layer in fp16, forward and backward, one text"
ROUNDS = 3
MIB = 2**20


def rows(sizes, systems, families):
    for system in systems if "full" in families else ():
        for length in sizes.lengths:
            try:
                yield {"system": system, "length": length, **measured(sizes, system, length)}
            except torch.cuda.OutOfMemoryError:
                yield {"system": system, "length": length, "seconds": None, "peak_bytes": None, "kept_bytes": None}


def measured(sizes, system, length):
    """Median seconds, a GPU's peak memory above the model, and the bytes kept for the backward pass."""
    model = build(sizes, system, "full", dim=sizes.wide, layers=1, length=length).half().to(sizes.device)
    (text,) = moved(batch(sizes, "full", length, texts=1)[0], sizes.device)

    def run():
        model.zero_grad()
        model.decoder(text, features_only=True)[0].float().sum().backward()

    seconds = [of_run for of_run, _ in in_turns({system: run}, ROUNDS, sizes.device)[system]]
    model.zero_grad()
    peak = peak_above(sizes.device, run) if sizes.device == "cuda" else None
    model.zero_grad()
    return {"seconds": statistics.median(seconds), "peak_bytes": peak, "kept_bytes": kept(model, text)}


def kept(model, text):
    """Bytes that a forward pass keeps for the backward pass, without the parameters."""
    with LiveMemory() as memory:
        output = model.decoder(text, features_only=True)[0]
    return sum(memory.alive(without=(output, *model.parameters())))


def line(row):
    if row["seconds"] is None:
        return f"{row['system']:<18} {row['length']:>6}  out of memory"
    peak = "" if row["peak_bytes"] is None else f"  peak {row['peak_bytes'] / MIB:>8.1f} MiB"
    kept = f"  kept for backward {row['kept_bytes'] / MIB:>8.1f} MiB"
    return f"{row['system']:<18} {row['length']:>6}  {1000 * row['seconds']:>9.2f} ms{peak}{kept}"
