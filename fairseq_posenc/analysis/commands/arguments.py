"""The commands that are measured: their arguments, for stock fairseq and for a system of this package."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fairseq_posenc.analysis.commands import output
from fairseq_posenc.analysis.commands.data import write_pairs, write_texts
from fairseq_posenc.analysis.workload import STOCK, Translation

PLUGIN = str(Path(__file__).resolve().parents[2])
#: Of every training.
TRAINING = """
    --lr 5e-4 --lr-scheduler inverse_sqrt --warmup-updates 4000 --disable-validation --log-format json --seed 1
    --distributed-world-size 1
"""
LOSSES = {
    "translation": ["label_smoothed_cross_entropy", "--label-smoothing", "0.1"],
    "language_modeling": ["cross_entropy"],
}


@dataclass(frozen=True)
class Runs:
    """What the runs of a benchmark have in common.

    Attributes:
        workload: a Translation or LanguageModels. A batch of training has at most ``sentences`` times ``length`` tokens
            (in sentences of length/2 to ``length`` tokens), a batch of the other commands ``sentences`` sentences.
        batches: batches per run; in training, updates.
        folder: where the data and the checkpoints are.
        flags: further flags of fairseq-train, for all systems.
    """

    workload: Translation
    batches: int
    folder: Path
    flags: tuple = ()

    def write_data(self):
        work, batch = self.workload, self.workload.sentences
        # Sentences are shorter than the longest: twice as many are more than enough for all updates.
        counts = {"train": 2 * self.batches * batch, "valid": 2, "test": self.batches * batch}
        write = write_pairs if work.task == "translation" else write_texts
        write(self.folder, work.vocab_size, work.length, counts)

    def save_dir(self, system):
        return self.folder / "checkpoints" / system

    def shown(self, tool, arguments):
        """The command as text, with FOLDER and the package in place of paths of this machine."""
        text = shlex.join([f"fairseq-{tool}", *map(str, arguments)])
        return text.replace(str(self.folder), "FOLDER").replace(PLUGIN, "fairseq_posenc")


def of_machine(work):
    device = ["--cpu"] if work.device == "cpu" else []
    return device if work.precision == "fp32" else [*device, f"--{work.precision}"]


def of_plugin(system):
    return [] if system == STOCK else ["--user-dir", PLUGIN]


def training(runs, system, own_parts):
    """fairseq-train of one system; ``own_parts``: with this package's criterion and optimizer, if it is not stock."""
    work, own = runs.workload, own_parts and system != STOCK
    arch, flags = work.arguments(system)
    loss, *loss_flags = LOSSES[work.task]
    return [
        *(runs.folder, *of_plugin(system), "--arch", arch, *flags, *of_machine(work), *TRAINING.split()),
        *("--criterion", f"sliced_{loss}" if own else loss, *loss_flags),
        *("--optimizer", "fused_adam" if own else "adam", "--max-tokens", work.sentences * work.length),
        *("--max-update", runs.batches, "--log-interval", 1, "--no-save", *runs.flags),
    ]


def checkpoint_training(runs, system):
    """fairseq-train that writes a checkpoint of one system after one update."""
    arguments = training(runs, system, own_parts=False)
    arguments.remove("--no-save")
    arguments += ["--max-update", 1, "--save-dir", runs.save_dir(system)]
    return [*arguments, "--no-epoch-checkpoints", "--no-save-optimizer-state"]


def of_reading(runs, system):
    """What fairseq-generate and fairseq-eval-lm have in common."""
    work = runs.workload
    return [
        *(runs.folder, *of_plugin(system), "--path", runs.save_dir(system) / "checkpoint_last.pt"),
        *("--gen-subset", "test", "--batch-size", work.sentences, "--required-batch-size-multiple", 1),
        *of_machine(work),
    ]


def generation(runs, system):
    """fairseq-generate; an untrained model ends anywhere, so minimum and maximum give all systems the same work."""
    work = runs.workload
    lengths = ["--max-len-a", 0, "--max-len-b", work.length, "--min-len", work.length]
    return [*of_reading(runs, system), "--beam", work.beam, *lengths]


def evaluation(runs, system):
    """fairseq-eval-lm."""
    work = runs.workload
    return [*of_reading(runs, system), "--task", work.task, "--tokens-per-sample", work.length]


@dataclass(frozen=True)
class Command:
    """A measured command.

    Attributes:
        tool: fairseq-TOOL; arguments: ``(runs, system) -> list``.
        unit: what its speed counts; speed: ``(output) -> {"rate": units per second, ..}``.
    """

    tool: str
    arguments: Callable
    unit: str
    speed: Callable

    @property
    def needs_checkpoints(self):
        return self.tool != "train"


COMMANDS = {
    "train": Command("train", partial(training, own_parts=True), "words", output.training_speed),
    "train-stock-flags": Command("train", partial(training, own_parts=False), "words", output.training_speed),
    "generate": Command("generate", generation, "sentences", output.generation_speed),
    "eval-lm": Command("eval-lm", evaluation, "tokens", output.evaluation_speed),
}
