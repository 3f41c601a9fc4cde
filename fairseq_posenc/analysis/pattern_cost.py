"""Time and memory of attention patterns by the length of the text, in a language model at inference."""

import statistics
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from tqdm import tqdm

from fairseq_posenc.analysis.build import architecture, build_model
from fairseq_posenc.analysis.peak_memory import in_own_process, peak_of_process
from fairseq_posenc.analysis.precision import autocasting, in_precision
from fairseq_posenc.attention.computation import AttentionCall
from fairseq_posenc.encodings import Stack, encoding_class
from fairseq_posenc.errors import InputError


@dataclass(frozen=True)
class Workload:
    """One text of ``length`` tokens through an untrained language model of these sizes."""

    layers: int = 2
    dim: int = 512
    heads: int = 8
    words: int = 1000
    device: str = "cpu"
    precision: str = "fp32"

    def model(self, encoding, pattern, longest):
        """The model in evaluation mode, for texts of up to ``longest`` tokens."""
        flags = {
            "--attention-pattern": pattern,
            "--decoder-layers": self.layers,
            "--decoder-embed-dim": self.dim,
            "--decoder-ffn-embed-dim": 4 * self.dim,
            "--decoder-attention-heads": self.heads,
            "--tokens-per-sample": longest,
        }
        words = [word for pair in flags.items() for word in pair]
        arch = architecture(encoding, "tiny", "transformer_lm")
        model = build_model(arch, "--task", "language_modeling", *words, words=self.words)
        return in_precision(model, self.precision).to(self.device)

    def text(self, length):
        generator = torch.Generator().manual_seed(0)
        return torch.randint(4, 4 + self.words, (1, length), generator=generator).to(self.device)

    @contextmanager
    def inference(self):
        with torch.no_grad(), autocasting(self.precision, self.device):
            yield

    def synchronize(self):
        if self.device == "cuda":
            torch.cuda.synchronize()


def check_limit(workload, encoding, longest):
    """Raise InputError where an encoding, with its default options, takes no text of ``longest`` tokens."""
    stack = Stack(workload.dim, workload.heads, max_positions=longest, causal=True)
    limit = encoding_class(encoding)(stack).max_positions
    if limit is not None and limit < longest:
        raise InputError(
            f"--lengths {longest}: {encoding} takes {limit} tokens by default; leave it out of --encodings, or give "
            "shorter lengths"
        )


@contextmanager
def time_in_attention(workload):
    """While inside, the list that this yields collects the seconds of each attention, without its projections."""
    seconds, call = [], AttentionCall.__call__

    def timed(self, *args):
        workload.synchronize()
        begin = time.perf_counter()
        out = call(self, *args)
        workload.synchronize()
        seconds.append(time.perf_counter() - begin)
        return out

    AttentionCall.__call__ = timed
    try:
        yield seconds
    finally:
        AttentionCall.__call__ = call


def measure_times(workload, systems, lengths, longest_full, rounds):
    """Seconds of one forward pass for every system and length, in turns.

    Args:
        systems: list of (encoding, pattern).
        longest_full: the pattern "full" is measured up to this length only.
        rounds: measured rounds, after one to warm up.

    Returns:
        list of {"encoding", "pattern", "length", "seconds": of the model, "attention_seconds": of all its attention},
        medians over the rounds; each also as a list of all rounds ("rounds", "attention_rounds").
    """
    models = {system: workload.model(*system, max(lengths)) for system in systems}
    cells = [
        (system, length) for length in lengths for system in systems if system[1] != "full" or length <= longest_full
    ]
    whole, attention = {cell: [] for cell in cells}, {cell: [] for cell in cells}
    with tqdm(total=len(cells) * (rounds + 1), desc="forward", file=sys.stderr) as progress, workload.inference():
        for number in range(rounds + 1):
            for cell in cells:
                system, length = cell
                text = workload.text(length)
                with time_in_attention(workload) as seconds:
                    workload.synchronize()
                    begin = time.perf_counter()
                    models[system](text)
                    workload.synchronize()
                    end = time.perf_counter()
                if number:  # round 0 warms up
                    whole[cell].append(end - begin)
                    attention[cell].append(sum(seconds))
                progress.update()
    return [
        {
            "encoding": encoding,
            "pattern": pattern,
            "length": length,
            "seconds": statistics.median(whole[(encoding, pattern), length]),
            "attention_seconds": statistics.median(attention[(encoding, pattern), length]),
            "rounds": whole[(encoding, pattern), length],
            "attention_rounds": attention[(encoding, pattern), length],
        }
        for (encoding, pattern), length in cells
    ]


def growth(rows):
    """For every system with two lengths or more, how time grows with the length: time ~ length^exponent.

    Returns:
        list of {"encoding", "pattern", "exponent": of the model's time, "attention_exponent", "speedup": {length: time
        of full attention / time under this pattern, for attention alone}}, from the rows of measure_times.
    """
    systems = dict.fromkeys((row["encoding"], row["pattern"]) for row in rows)
    result = []
    for encoding, pattern in systems:
        own = [row for row in rows if (row["encoding"], row["pattern"]) == (encoding, pattern)]
        full = {
            row["length"]: row["attention_seconds"]
            for row in rows
            if (row["encoding"], row["pattern"]) == (encoding, "full")
        }
        record = {"encoding": encoding, "pattern": pattern}
        if len(own) > 1:
            record["exponent"] = slope(own, "seconds")
            record["attention_exponent"] = slope(own, "attention_seconds")
        if pattern != "full":
            record["speedup"] = {
                str(row["length"]): full[row["length"]] / row["attention_seconds"]
                for row in own
                if row["length"] in full
            }
        result.append(record)
    return result


def slope(rows, name):
    """Least squares of log time on log length."""
    logarithms = np.log([[row["length"], row[name]] for row in rows])
    return float(np.polyfit(*logarithms.T, deg=1)[0])


def _memory(workload, encoding, pattern, length):
    model = workload.model(encoding, pattern, length)
    with workload.inference():
        model(workload.text(16))
        if workload.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            model(workload.text(length))
            return torch.cuda.max_memory_allocated() - before
        before = peak_of_process()
        model(workload.text(length))
        return peak_of_process() - before


def measure_memory(workload, systems, lengths, longest_full):
    """Peak bytes of one forward pass above the model, each in a process of its own.

    Returns:
        list of {"encoding", "pattern", "length", "bytes"}.
    """
    cells = [
        (*system, length) for length in lengths for system in systems if system[1] != "full" or length <= longest_full
    ]
    rows = []
    for encoding, pattern, length in tqdm(cells, desc="memory", file=sys.stderr):
        peak = in_own_process(_memory, workload, encoding, pattern, length)
        rows.append({"encoding": encoding, "pattern": pattern, "length": length, "bytes": peak})
    return rows
