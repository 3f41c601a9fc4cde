"""The steps of the length recipe: examples, binary data, training, generation."""

import inspect
import shlex
from pathlib import Path

from examples.common.commands import Command, shown
from examples.common.files import cksum
from examples.common.step import Step, mark
from examples.common.training import KEEP_MEMORY, Processes, Training, one_gpu
from examples.common.translation import binary_data, python
from examples.common.variables import need
from examples.length.data import SEPARATOR
from examples.length.settings import DECODER_ONLY, ENCODER_DECODER, HERE, lengths_of

#: fairseq's cross-entropy and Adam, with the same numbers in less time.
LEARNING = ("--criterion", "sliced_cross_entropy", "--optimizer", "fused_adam")
SIDES = ("--source-lang", "input", "--target-lang", "output")
USER_DIR = ("--user-dir", "fairseq_posenc")


def preparation(settings, task):
    """The step that writes the examples of a task, for both forms of models."""
    folder, scale = settings.task(task), settings.scale_settings
    raw, lengths = folder / "raw", lengths_of(task, scale, ENCODER_DECODER)
    sizes = ("--train", scale.train, "--valid", scale.valid, "--test", scale.test)
    argv = python("examples.length.data", task.name, raw)
    argv += map(str, ("--trained", lengths.trained, "--longest", lengths.longest, *sizes))

    def fingerprint():
        # The other families do not matter: a new task leaves the examples of the others as they are.
        family = Path(inspect.getfile(task.sample))
        return cksum(family, family.with_name("task.py"), HERE / "bands.py", HERE / "data.py")

    title = f"examples of {task.name}"
    commands = [Command(["mkdir", "-p", folder]), Command(argv)]
    return Step(title, commands, mark(folder / "steps", title), (), (raw,), fingerprint, folder)


def binarisation(settings, task, form):
    """The step that makes binary data for one form of models."""
    folder, binary = settings.task(task), settings.binary(task, form)
    raw, argv = folder / "raw", ["fairseq-preprocess"]
    argv += [*SIDES, "--joined-dictionary"] if form == ENCODER_DECODER else ["--only-source"]
    for part in ("train", "valid", "test"):
        argv += [f"--{part}pref", raw / (part if form == ENCODER_DECODER else f"{part}.text")]
    commands = [Command(["mkdir", "-p", binary.parent]), *binary_data(argv, binary, binary.parent, "1")]
    title = f"binary data of {task.name}, {form}"
    return Step(title, commands, mark(folder / "steps", title), (raw,), (binary,), lambda: examples(raw), folder)


def examples(raw):
    """The checksum of the examples."""
    return cksum(*sorted(path for path in raw.iterdir() if path.suffix != ".json"))


def form_options(form):
    """The task, and what data it reads, for all commands of fairseq on one form of models."""
    if form == ENCODER_DECODER:
        return ["--task", "translation", *SIDES]
    return ["--task", "language_modeling"]


def model(settings, task, form, encoding):
    """Options of the model."""
    small, name = settings.scale_settings.small, encoding.replace("-", "_")
    if form == ENCODER_DECODER:
        argv = small.model(f"transformer_{name}")
        argv[argv.index("--dropout") + 1] = "0"
        return [*argv, "--share-all-embeddings"]
    argv = ["--arch", f"transformer_lm_{name}_tiny", "--decoder-layers", small.layers]
    argv += ["--decoder-embed-dim", small.width, "--decoder-ffn-embed-dim", small.feed_forward]
    argv += ["--decoder-attention-heads", small.heads, "--share-decoder-input-output-embed"]
    # One example per sample; the limit is for the longest one in generation.
    limit = lengths_of(task, settings.scale_settings, form).limit
    return list(map(str, [*argv, "--sample-break-mode", "eos", "--tokens-per-sample", limit + 2]))


def training(settings, task, form, name, encoding, seed, options=""):
    """The training run of one system.

    Args:
        options: further options of fairseq-train; @trained stands for the tokens of the longest training sequence,
            @trained/4 for a quarter of them.
    """
    processes, scale = Processes(), settings.scale_settings
    processes.one(settings.scale)
    folder, binary = settings.system(task, form, name, seed), settings.binary(task, form)
    longest = lengths_of(task, scale, form).trained_tokens
    options = options.replace("@trained/4", str(longest / 4)).replace("@trained", str(longest))
    settled = [*model(settings, task, form, encoding), *shlex.split(options)]
    learning = [*LEARNING, *(("--ignore-prefix-until", SEPARATOR) if form == DECODER_ONLY else ())]
    learning += ["--max-tokens", str(scale.small.max_tokens)]
    schedule = [*learning, *scale.schedule(task, form, settings.updates), "--seed", str(seed)]
    launcher = processes.launcher()
    need(launcher[0])
    argv = [*launcher, binary, *form_options(form), *USER_DIR, *settled, *schedule, "--no-epoch-checkpoints"]
    # Without a buffer, because fairseq's thread that fills it may abort the process if a run ends within an epoch.
    argv += ["--data-buffer-size", "0", "--save-dir", folder / "checkpoints"]
    argv += ["--log-format", "json", "--no-progress-bar", "--log-file", folder / "train.log"]

    def fingerprint():
        return f"{shown([*settled, *schedule])}\n{examples(settings.task(task) / 'raw')}"

    environment = {**one_gpu(), **KEEP_MEMORY}
    title = f"{name} {task.name} {form} seed {seed}"
    return Training(title, folder, argv, fingerprint, processes, (binary,), environment, replace=True)


def generation(settings, task, form, name, seed):
    """The steps that answer the test examples greedily: up to the end that the model chooses, and without an end.

    Without an end, the first N tokens are the answer that the model gives if it is told that the answer has N tokens.
    """
    folder, binary, raw = settings.system(task, form, name, seed), settings.binary(task, form), settings.task(task)
    checkpoint, limit = folder / "checkpoints" / "checkpoint_last.pt", lengths_of(task, settings.scale_settings, form)
    steps = []
    for kind, least in (("free", 1), ("oracle", limit.limit)):
        if form == ENCODER_DECODER:
            argv = ["fairseq-generate", binary, "--gen-subset", "test"]
        else:
            argv = ["fairseq-interactive", binary, "--input", raw / "raw" / "test.prompt", "--buffer-size", "100000"]
        argv += [*form_options(form), *USER_DIR, "--path", checkpoint, "--beam", "1", "--min-len", least]
        argv += ["--max-len-a", "0", "--max-len-b", limit.limit, "--batch-size", "128", "--no-progress-bar"]
        output = folder / f"{kind}.log"
        title = f"{kind} answers of {name} {task.name} {form} seed {seed}"
        steps.append(
            Step(
                title,
                [Command(list(map(str, argv)), output=output)],
                mark(folder / "steps", title),
                (folder / "checkpoints", raw / "raw"),
                (output,),
                lambda: f"{cksum(checkpoint)}\n{examples(raw / 'raw')}",
                folder,
                one_gpu(),
            )
        )
    return steps
