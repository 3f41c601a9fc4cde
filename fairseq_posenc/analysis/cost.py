"""Time and memory of models relative to stock fairseq, measured side by side in one run.

Machines are noisy, so systems take turns, round by round, and what is reported is the median over rounds of the ratio
to stock within the same round.
"""

import statistics
import sys
import time
from argparse import Namespace
from dataclasses import dataclass
from typing import Optional

import torch
from fairseq.sequence_generator import SequenceGenerator
from torch.nn import functional as F
from tqdm import tqdm

from fairseq_posenc.analysis.build import architecture, build_model
from fairseq_posenc.analysis.peak_memory import in_own_process, peak_of_process
from fairseq_posenc.analysis.precision import Updates, autocasting, in_precision
from fairseq_posenc.encodings import Stack, encoding_class
from fairseq_posenc.errors import InputError
from fairseq_posenc.models.language_model import SIZES as LANGUAGE_MODEL_SIZES

STOCK = "stock"


@dataclass(frozen=True)
class Workload:
    """What is measured: ``sentences`` pairs of ``length`` tokens each, on models of ``size``."""

    size: str = "wmt_en_de"
    words: int = 40_000
    length: int = 32
    sentences: int = 32
    beam: Optional[int] = 4
    device: str = "cpu"
    precision: str = "fp32"

    @property
    def tokens(self):
        return self.length * self.sentences

    def model(self, system):
        arch = f"transformer_{self.size}" if system == STOCK else architecture(system, self.size)
        flags = ["--share-all-embeddings"]
        # Tables of absolute positions have fairseq's default of 1024 rows, unless that is too few: generation
        # takes one more than the length, for the end of the sentence.
        rows = max(1024, self.length + 1)
        flags += ["--max-source-positions", rows, "--max-target-positions", rows]
        return in_precision(build_model(arch, *flags, words=self.words), self.precision).to(self.device)

    def batch(self):
        """Source, previous output and target, (sentences, length) each, without padding."""
        generator = torch.Generator().manual_seed(0)
        shape = (self.sentences, self.length)
        return [torch.randint(4, 4 + self.words, shape, generator=generator).to(self.device) for _ in range(3)]

    def autocasting(self):
        return autocasting(self.precision, self.device)

    def inputs(self):
        """What the model is called with for a batch."""
        source, previous, _ = self.batch()
        return source, None, previous


@dataclass(frozen=True)
class LanguageModelWorkload(Workload):
    """What is measured: ``sentences`` texts of ``length`` tokens each, on language models of ``size``."""

    size: str = "base"

    def model(self, system):
        if system == STOCK:
            arch, flags = "transformer_lm", stock_language_model_flags(self.size)
        else:
            arch, flags = architecture(system, self.size, "transformer_lm"), []
        flags += ["--task", "language_modeling", "--tokens-per-sample", self.length]
        return in_precision(build_model(arch, *flags, words=self.words), self.precision).to(self.device)

    def inputs(self):
        return self.batch()[:1]


def stock_language_model_flags(size):
    """The flags that make fairseq's ``transformer_lm`` a model of this size."""
    settings = Namespace()
    LANGUAGE_MODEL_SIZES[size](settings)
    names = [f"decoder_{name}" for name in ("layers", "input_dim", "embed_dim", "ffn_embed_dim", "output_dim")]
    names += ["decoder_attention_heads", "dropout", "attention_dropout", "activation_fn"]
    flags = [word for name in names for word in (f"--{name.replace('_', '-')}", getattr(settings, name))]
    return [*flags, "--decoder-normalize-before"]


def check_limits(workload, systems, generates):
    """Raise InputError where an encoding with its default options takes no sentence of ``workload.length`` tokens."""
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
            f"leave out what is too short: --encodings {rest}"
            if rest
            else f"give at most {min(limits.values()) - generates}"
        )
        raise InputError(
            f"--length {workload.length} needs {needed} positions, but by default there are: {short}; {cure}"
        )


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


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
        # It forgets the gradients, so that no system holds any while it is another's turn.
        self.update(loss)


class Forward:
    """The forward pass of one fixed batch, ten times: the measure of Figure 2 of Zhang et al. (2023)."""

    batches = 10

    def __init__(self, workload, system):
        self.workload, self.model = workload, workload.model(system)
        self.inputs = workload.inputs()

    def __call__(self):
        with torch.no_grad(), self.workload.autocasting():
            for _ in range(self.batches):
                self.model(*self.inputs)


class Generation:
    """Beam search of ``workload.length`` target tokens for every sentence, as fairseq-generate runs it."""

    batches = 1

    def __init__(self, workload, system):
        self.workload = workload
        model = workload.model(system)
        model.make_generation_fast_(beamable_mm_beam_size=None, need_attn=False)
        # An untrained model ends anywhere; equal minimum and maximum give every system the same work.
        self.generator = SequenceGenerator(
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
        with torch.no_grad(), self.workload.autocasting():
            self.generator.generate([], {"net_input": {"src_tokens": self.source, "src_lengths": lengths}})


def compare_times(workload, systems, kind, rounds):
    """Seconds of ``kind`` (TrainingStep, Generation or Forward) for stock and every system, in turns.

    Returns:
        {system: {"seconds": median, "quartiles": [first, third], "tokens_per_second": ..., "ratio_to_stock": median of
        the rounds' ratios, "ratios": [one a round]}}, stock included.
    """
    names = [STOCK, *systems]
    runs = {name: kind(workload, name) for name in names}
    seconds = {name: [] for name in names}
    progress = tqdm(total=(rounds + 1) * len(names), desc=kind.__name__, file=sys.stderr)
    for round_number in range(rounds + 1):
        # The order rotates, so that no system always follows the same one.
        start = round_number % len(names)
        for name in names[start:] + names[:start]:
            synchronize(workload.device)
            begin = time.perf_counter()
            runs[name]()
            synchronize(workload.device)
            if round_number:  # round 0 warms up
                seconds[name].append(time.perf_counter() - begin)
            progress.update()
    progress.close()
    result = {}
    for name in names:
        median = statistics.median(seconds[name])
        ratios = [mine / stock for mine, stock in zip(seconds[name], seconds[STOCK])]
        result[name] = {
            "seconds": median,
            "quartiles": quartiles(seconds[name]),
            "tokens_per_second": workload.tokens * kind.batches / median,
            "ratio_to_stock": statistics.median(ratios),
            "ratios": ratios,
        }
    return result


def quartiles(numbers):
    """First and third quartile; both the number itself where there is only one."""
    if len(numbers) == 1:
        return [numbers[0], numbers[0]]
    first, _, third = statistics.quantiles(numbers, n=4, method="inclusive")
    return [first, third]


def _peak_memory(workload, system):
    """Peak bytes of two training steps."""
    step = TrainingStep(workload, system)
    for _ in range(2):  # the second step runs with the optimizer's state in place
        step()
    if workload.device == "cuda":
        return torch.cuda.max_memory_allocated()
    return peak_of_process()


def compare_memory(workload, systems):
    """{system: peak bytes} of stock and every system, each in a fresh process.

    On a CPU they are the process's, on a GPU those of PyTorch's allocator.
    """
    names = [STOCK, *systems]
    return {
        name: in_own_process(_peak_memory, workload, name) for name in tqdm(names, desc="peak memory", file=sys.stderr)
    }
