"""Time and memory of attention patterns by the length of the text, in a language model at inference."""

import statistics
import sys

import numpy as np
from tqdm import tqdm

from fairseq_posenc.analysis.peak_memory import in_own_process, peak_above
from fairseq_posenc.analysis.timer import AttentionTimer, in_turns
from fairseq_posenc.encodings import Stack, encoding_class
from fairseq_posenc.errors import InputError
from fairseq_posenc.models.stack import self_attentions


def check_limit(workload, encoding, longest):
    """Raise InputError if an encoding with its default options cannot read a text of ``longest`` tokens."""
    stack = Stack(workload.dim, workload.heads, max_positions=longest, causal=True)
    limit = encoding_class(encoding)(stack).max_positions
    if limit is not None and limit < longest:
        raise InputError(
            f"--lengths {longest}: {encoding} reads at most {limit} tokens by default; leave it out of --encodings, or "
            "give shorter lengths"
        )


def cells_of(systems, lengths, longest_full):
    """[(encoding, pattern, length)] of systems (encoding, pattern); full attention only up to ``longest_full``."""
    return [
        (*system, length) for length in lengths for system in systems if system[1] != "full" or length <= longest_full
    ]


def measure_times(workload, systems, lengths, longest_full, rounds):
    """Seconds of one forward pass for every system and length, which take turns.

    Args:
        workload: a Patterns (workload.py).
        systems: list of (encoding, pattern).
        longest_full: the pattern "full" is measured only up to this length.
        rounds: measured rounds, after one warm-up round.

    Returns:
        list of {"encoding", "pattern", "length", "seconds": of the model, "attention_seconds": of all its attention},
        medians over the rounds; each also as a list of all rounds ("rounds", "attention_rounds").
    """
    models = {system: workload.model(*system, max(lengths)) for system in systems}

    def forward(encoding, pattern, length):
        model, text = models[encoding, pattern], workload.text(length)

        def run():
            with AttentionTimer(self_attentions(model.decoder), workload.device) as attention:
                model(text)
            return attention.seconds

        return run

    with workload.inference():
        runs = {cell: forward(*cell) for cell in cells_of(systems, lengths, longest_full)}
        timings = in_turns(runs, rounds, workload.device, "forward")
    rows = []
    for (encoding, pattern, length), of_rounds in timings.items():
        whole, attention = map(list, zip(*of_rounds))
        medians = {"seconds": statistics.median(whole), "attention_seconds": statistics.median(attention)}
        all_rounds = {"rounds": whole, "attention_rounds": attention}
        rows.append({"encoding": encoding, "pattern": pattern, "length": length, **medians, **all_rounds})
    return rows


def growth(rows):
    """How the time of every system with at least two lengths grows with the length: time ~ length^exponent.

    Returns:
        list of {"encoding", "pattern", "exponent": of the model's time, "attention_exponent", "speedup": {length: time
        of full attention / time under this pattern, for attention alone}}, from the rows of measure_times.
    """
    systems = dict.fromkeys((row["encoding"], row["pattern"]) for row in rows)
    result = []
    for encoding, pattern in systems:
        of_system = [row for row in rows if (row["encoding"], row["pattern"]) == (encoding, pattern)]
        full = {
            row["length"]: row["attention_seconds"]
            for row in rows
            if (row["encoding"], row["pattern"]) == (encoding, "full")
        }
        record = {"encoding": encoding, "pattern": pattern}
        if len(of_system) > 1:
            record["exponent"] = slope(of_system, "seconds")
            record["attention_exponent"] = slope(of_system, "attention_seconds")
        if pattern != "full":
            record["speedup"] = {
                str(row["length"]): full[row["length"]] / row["attention_seconds"]
                for row in of_system
                if row["length"] in full
            }
        result.append(record)
    return result


def slope(rows, name):
    """The slope of log time over log length, by least squares."""
    logarithms = np.log([[row["length"], row[name]] for row in rows])
    return float(np.polyfit(*logarithms.T, deg=1)[0])


def _memory(workload, encoding, pattern, length):
    model = workload.model(encoding, pattern, length)
    with workload.inference():
        model(workload.text(16))
        return peak_above(workload.device, lambda: model(workload.text(length)))


def measure_memory(workload, systems, lengths, longest_full):
    """Peak bytes of one forward pass above the model, each in a separate process.

    Returns:
        list of {"encoding", "pattern", "length", "bytes"}.
    """
    rows = []
    for encoding, pattern, length in tqdm(cells_of(systems, lengths, longest_full), desc="memory", file=sys.stderr):
        peak = in_own_process(_memory, workload, encoding, pattern, length)
        rows.append({"encoding": encoding, "pattern": pattern, "length": length, "bytes": peak})
    return rows
