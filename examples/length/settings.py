"""Scales, forms of models, and the names of files."""

import shlex
from dataclasses import dataclass

from examples.common.files import ROOT
from examples.common.translation import Small
from examples.common.variables import RecipeSettings, count, variable
from examples.length.tasks.task import Task

HERE = ROOT / "examples" / "length"
ENCODER_DECODER, DECODER_ONLY = FORMS = ("encoder-decoder", "decoder-only")
#: Updates of a language model, relative to those of an encoder-decoder. Prompts are half of the tokens of its batches,
#: and it has to learn what an encoder-decoder is given: where the input ends, and the answer begins.
LANGUAGE_MODEL_UPDATES = 3
#: Generation may go on for so many tokens more than the longest answer has, so that its end does not help a model.
MARGIN = 10


@dataclass(frozen=True)
class Learning:
    """The greatest learning rate of a training run, and its updates."""

    rate: str
    updates: int


@dataclass(frozen=True)
class Scale:
    """One scale: its examples, models and training runs.

    Args:
        trained: the greatest length in training, except for tasks that have their own.
        longest: the greatest length in testing, except for those.
        train, valid, test: training examples, validation examples, and test examples of each length.
        small: models and batches.
        learning: of tasks whose answers are sequences, with the updates of an encoder-decoder.
        one_token: of tasks whose answer is one token. Examples of these have less to learn from, and with the learning
            rate of the others, even-pairs stays at chance.
        seeds: training runs per system by default; None: as results.tsv says.
        tasks, systems: how many of the tasks and systems of a result are run by default; None: all.
    """

    trained: int
    longest: int
    train: int
    valid: int
    test: int
    small: Small
    learning: Learning
    one_token: Learning
    tasks: int | None = None
    systems: int | None = None
    seeds: int | None = None

    def schedule(self, task, form, updates=None):
        """Options of the learning rate and the length of a training run on a task.

        Its checkpoints are those that a killed run can go back to.

        Args:
            updates: of the run; None: those of the scale.
        """
        learning = self.one_token if task.answer(self.trained) == 1 else self.learning
        rate = learning.rate
        updates = updates or learning.updates * (LANGUAGE_MODEL_UPDATES if form == DECODER_ONLY else 1)
        every = max(1, updates // 4)
        return shlex.split(
            f"--lr {rate} {self.small.training} --lr-scheduler polynomial_decay "
            f"--warmup-updates {max(1, updates // 10)} --total-num-update {updates} --max-update {updates} "
            f"--validate-interval-updates {every} --save-interval-updates {every} --keep-interval-updates 2"
        )


TRAINING = "--adam-betas '(0.9, 0.98)' --clip-norm 1.0 --num-workers 0"
SCALES = {
    "small": Scale(
        *(20, 100, 50_000, 400, 25),
        small=Small(0, 2, 64, 256, 4, 1024, TRAINING),
        learning=Learning("4e-3", 1000),
        one_token=Learning("1e-3", 2000),
    ),
    "smoke": Scale(
        *(8, 24, 2000, 50, 4),
        small=Small(0, 1, 32, 64, 2, 1024, TRAINING),
        learning=Learning("5e-3", 40),
        one_token=Learning("5e-3", 40),
        tasks=2,
        systems=3,
        seeds=1,
    ),
}


@dataclass(frozen=True)
class Lengths:
    """The lengths of a task at a scale, and the tokens that its longest sequences have in one form of model.

    ``trained_tokens``: of the longest sequence in training; ``limit``: of the longest one in generation.
    """

    trained: int
    longest: int
    trained_tokens: int
    limit: int


def lengths_of(task: Task, scale: Scale, form: str) -> Lengths:
    """The lengths of a task; a task with a greatest training length of its own also has a longest example."""
    trained, longest = scale.trained, scale.longest
    if task.trained:
        trained = task.trained
        longest = max(length for length in range(1, 5 * trained + 1) if task.exists(length))
    if form == ENCODER_DECODER:
        tokens = max(task.prompt(trained), task.answer(trained)) + 1
        return Lengths(trained, longest, tokens, task.answer(longest) + MARGIN)
    # The prompt, the separator, the answer, and the end.
    tokens = task.prompt(trained) + 1 + task.answer(trained) + 1
    return Lengths(trained, longest, tokens, task.prompt(longest) + 1 + task.answer(longest) + MARGIN)


class Settings(RecipeSettings):
    """Scale, updates (UPDATES), folders and seeds from the environment."""

    def __init__(self):
        super().__init__("length", tuple(SCALES))
        self.scale_settings = SCALES[self.scale]
        updates = variable("UPDATES")
        self.updates = count("UPDATES", updates) if updates else None
        self.home = self.work / self.scale

    def task(self, task):
        """The folder of a task."""
        return self.home / task.name

    def system(self, task, form, name, seed):
        """The folder of one trained system."""
        return self.task(task) / form / name / f"seed{seed}"

    def binary(self, task, form):
        """The folder of a task's binary data."""
        return self.task(task) / form / "binary"
