"""Time and memory of models relative to stock fairseq, measured side by side in one run.

Machines are noisy, so systems take turns, round by round; the result is the median over rounds of the ratio to stock
fairseq in the same round.
"""

import statistics
import sys

import torch
from fairseq.dataclass.configs import FairseqConfig
from torch.nn import functional as F
from tqdm import tqdm

from fairseq_posenc.analysis.peak_memory import in_own_process, peak_so_far
from fairseq_posenc.analysis.precision import Updates
from fairseq_posenc.analysis.timer import in_turns
from fairseq_posenc.analysis.workload import STOCK
from fairseq_posenc.encodings import Stack, encoding_class
from fairseq_posenc.errors import InputError
from fairseq_posenc.generation.generator import generator_class


def check_limits(workload, systems, generates):
    """Raise InputError if an encoding with its default options cannot read ``workload.length`` tokens."""
    needed = workload.length + generates  # beam search ends with one more step
    limits = {}
    for name in systems:
        limit = encoding_class(name)(Stack(model_dim=64, max_positions=needed)).max_positions
        if limit is not None and limit < needed:
            limits[name] = limit
    if limits:
        short = ", ".join(f"{name} {limit}" for name, limit in limits.items())
        rest = ",".join(name for name in systems if name not in limits)
        cure = (
            f"leave out encodings with too few: --encodings {rest}"
            if rest
            else f"give at most {min(limits.values()) - generates}"
        )
        raise InputError(
            f"--length {workload.length} needs {needed} positions, but these encodings have fewer by default: {short}; "
            f"{cure}"
        )


class TrainingStep:
    """One update: forward, loss, backward, Adam."""

    batches = 1

    def __init__(self, workload, system):
        self.workload, self.model = workload, workload.model(system).train()
        self.update = Updates(self.model.parameters(), workload.precision, workload.device)
        self.inputs, self.target = workload.inputs(), workload.batch()[-1]

    def __call__(self):
        with self.workload.autocasting():
            logits = self.model(*self.inputs)[0]
            loss = F.cross_entropy(logits.flatten(0, 1).float(), self.target.flatten(), label_smoothing=0.1)
        # The update also resets the gradients, so that no system keeps any during another system's turn.
        self.update(loss)


class Forward:
    """The forward pass of one fixed batch, ten times: the measure of Figure 2 of Zhang et al. (2023)."""

    batches = 10

    def __init__(self, workload, system):
        self.workload, self.model = workload, workload.model(system)
        self.inputs = workload.inputs()

    def __call__(self):
        with self.workload.inference():
            for _ in range(self.batches):
                self.model(*self.inputs)


class Generation:
    """Beam search of ``workload.length`` target tokens for every sentence, as fairseq-generate runs it."""

    batches = 1

    def __init__(self, workload, system):
        self.workload = workload
        model = workload.model(system)
        model.prepare_for_inference_(FairseqConfig())
        # An untrained model ends anywhere; equal minimum and maximum give every system the same work.
        self.generator = generator_class([model])(
            [model],
            model.decoder.dictionary,
            beam_size=workload.beam,
            max_len_a=0,
            max_len_b=workload.length,
            min_len=workload.length,
        )
        self.source = workload.batch()[0]

    def __call__(self):
        lengths = torch.full((self.workload.sentences,), self.workload.length, device=self.workload.device)
        with self.workload.inference():
            self.generator.generate([], {"net_input": {"src_tokens": self.source, "src_lengths": lengths}})


def compare_times(workload, systems, kind, rounds):
    """Seconds of ``kind`` (TrainingStep, Generation or Forward) for stock and every system, which take turns.

    Returns:
        {system: {"seconds": median, "quartiles": [first, third], "tokens_per_second": ..., "ratio_to_stock": median of
        the rounds' ratios, "ratios": [one per round]}}, including stock.
    """
    names = [STOCK, *systems]
    runs = in_turns({name: kind(workload, name) for name in names}, rounds, workload.device, kind.__name__)
    seconds = {name: [of_run for of_run, _ in of_rounds] for name, of_rounds in runs.items()}
    result = {}
    for name in names:
        median = statistics.median(seconds[name])
        ratios = [system / stock for system, stock in zip(seconds[name], seconds[STOCK])]
        result[name] = {
            "seconds": median,
            "quartiles": quartiles(seconds[name]),
            "tokens_per_second": workload.tokens * kind.batches / median,
            "ratio_to_stock": statistics.median(ratios),
            "ratios": ratios,
        }
    return result


def quartiles(numbers):
    """First and third quartile; of a single number, the number twice."""
    if len(numbers) == 1:
        return [numbers[0], numbers[0]]
    first, _, third = statistics.quantiles(numbers, n=4, method="inclusive")
    return [first, third]


def _peak_memory(workload, system):
    """Peak bytes of two training steps."""
    step = TrainingStep(workload, system)
    for _ in range(2):  # the second step runs with the optimizer's state in place
        step()
    return peak_so_far(workload.device)


def compare_memory(workload, systems):
    """{system: peak bytes} of stock and every system, each in a fresh process.

    The peak is of the process on a CPU, and of PyTorch's allocator on a GPU.
    """
    names = [STOCK, *systems]
    return {
        name: in_own_process(_peak_memory, workload, name) for name in tqdm(names, desc="peak memory", file=sys.stderr)
    }
