"""The steps of the language-model recipes, each for one script that can be run by hand, and for reproduce.py."""

import shlex
import sys
from pathlib import Path

from examples.common.engine import Command, Step, cksum, mark, shown
from examples.common.training import Processes, Training
from examples.common.translation import archives, binary_data, python
from examples.common.variables import (
    check_encodings,
    choice,
    count,
    existing_folder,
    need,
    options,
    plain_name,
    variable,
    workers,
)
from examples.lm.settings import HERE, OWN_CORPORA, PAPER_SAVING, PAPERS, Settings, batch_options
from fairseq_posenc.errors import InputError

KINDS = (*OWN_CORPORA, "documents", "text")
#: The kinds of preparation that each option is for.
OPTIONS = {
    "--data": ("wikitext-103", "wikitext-103-words", "documents", "text"),
    "--name": ("documents",),
    "--gpt2": ("stdlib", "wikitext-103", "documents"),
    "--mirror": ("wikitext-103", "wikitext-103-words"),
}


# ---- prepare.sh --------------------------------------------------------------------------------------------------
def prepare(argv):
    Settings()
    if not argv:
        raise InputError("give stdlib, wikitext-103, wikitext-103-words, documents or text; -h shows the options")
    kind, *argv = argv
    choice(kind, KINDS, "")
    text = None
    if kind == "text":
        if not argv:
            raise InputError("give the text a name: prepare.sh text NAME --data DIR")
        text = plain_name("text", argv.pop(0))
        if text == "test":
            raise InputError("the name test is reserved for the test text of the corpus; choose another name")
    args = options(argv, tuple(OPTIONS), several=("--mirror",))
    for option, value in args.items():
        if value and kind not in OPTIONS[option]:
            raise InputError(f"{option} is not for {kind}; leave it out")
    data, gpt2 = existing_folder("--data", args["--data"]), given_gpt2(args["--gpt2"])
    if args["--mirror"] and data:
        raise InputError(f"--mirror is for a download, but --data {data} is given; give one of them")
    if kind in ("documents", "text") and not data:
        raise InputError("give --data DIR, a folder with one text file per document")
    corpus = kind if kind in OWN_CORPORA else None
    if kind == "documents":
        corpus = plain_name("--name", args["--name"] or "documents")
        if corpus == "stdlib" or corpus.startswith("wikitext-103"):
            raise InputError(f"--name {corpus} is the name of another corpus; choose another")
    settings = Settings(corpus)
    need("python", "fairseq-preprocess")
    workers()
    if text:
        steps = text_preparation(settings, text, data)
    else:
        steps = preparation(settings, kind, data, gpt2, args["--mirror"])
    settings.run(steps, "prepare.sh")


def given_gpt2(path):
    """The folder of GPT-2's files, or None."""
    folder = existing_folder("--gpt2", path) if path and Path(path).is_dir() else None
    for file in ("encoder.json", "vocab.bpe"):
        if path and not (folder and (folder / file).is_file()):
            raise InputError(f"--gpt2 {path} lacks {file}; give the folder of GPT-2's files")
    return folder


class Making:
    """Steps in one folder with raw, prepared and binary data: the corpus's own, or that of a text."""

    def __init__(self, settings, folder):
        self.settings, self.raw, self.prepared, self.binary = (
            settings,
            folder / "raw",
            folder / "prepared",
            folder / "binary",
        )
        self.home, self.workers = settings.home / "prepared", str(workers())
        self.dictionary = self.home / "dict.txt"
        self.steps = [Step("folder", [Command(["mkdir", "-p", self.prepared])])]

    def add(self, title, commands, inputs=(), outputs=(), fingerprint=None):
        at = mark(self.prepared / "steps", title)
        self.steps.append(Step(title, commands, at, tuple(inputs), tuple(outputs), fingerprint, self.prepared))

    def cut(self, split, model, fingerprint=None):
        """The subwords of one split."""
        text, pieces = self.raw / f"{split}.jsonl", self.prepared / f"pieces.{split}"
        argv = python("examples.lm.corpus.document_subwords", "apply", model, text, pieces, "--workers", self.workers)
        self.add(f"subwords of {split}", [Command(argv)], (text, model), (pieces,), fingerprint)
        return pieces

    def numbers(self, files, argv):
        """Binary data of {split: file}."""
        argv = ["fairseq-preprocess", "--only-source", *argv]
        for split, path in files.items():
            argv += [f"--{split}pref", path]
        commands = binary_data(argv, self.binary, self.prepared, self.workers)
        self.add("binary data", commands, files.values(), (self.binary,))


def preparation(settings, kind, data=None, gpt2=None, mirrors=()):
    """The steps from the network, from files in ``data`` or from Python's standard library to binary data."""
    making = Making(settings, settings.home)
    raw, prepared, scale = making.raw, making.prepared, settings.here
    size = ["--held-out", scale.held_out, "--long", scale.long, *(["--limit", scale.limit] if scale.limit else [])]
    before = ()
    if kind.startswith("wikitext"):
        form = "words" if kind.endswith("words") else "articles"
        folder = data or settings.home / "archives"
        argv = python("examples.lm.corpus.wikitext", "fetch", form, folder, settings.home / "checksums.json")
        making.steps.append(archives(argv, data, mirrors, prepared))
        before = making.steps[-1].outputs
        text = python("examples.lm.corpus.wikitext", form, folder, raw)

        def fingerprint():
            return before[0].read_text(encoding="utf-8")
    elif kind == "documents":
        text = python("examples.lm.corpus.documents", data, raw, *size)

        def fingerprint():
            return listing(data)
    else:
        text = python("examples.lm.corpus.standard_library", raw, *size)

        def fingerprint():
            return sys.version

    plain = kind == "wikitext-103-words"
    texts = {split: raw / f"{split}.{'words' if plain else 'jsonl'}" for split in ("train", "valid", "test")}
    making.add(f"text of {settings.corpus}", [Command(text)], before, texts.values(), fingerprint)
    if plain:
        making.numbers(texts, [])
        return making.steps
    model = learn(making, gpt2, texts["train"])
    making.numbers({split: making.cut(split, model) for split in texts}, ["--srcdict", making.dictionary])
    return making.steps


def learn(making, gpt2, train):
    """Add the step that learns or takes subwords; return the model."""
    models = [making.home / "gpt2", making.home / "sentencepiece.model"]
    model = models[0] if gpt2 else models[1]
    argv = ["gpt2", gpt2] if gpt2 else ["sentencepiece", making.settings.here.pieces]
    argv = python("examples.lm.corpus.document_subwords", *argv, model, making.dictionary, *([] if gpt2 else [train]))
    # Only one of the two stays.
    commands = [Command(["rm", "-rf", *models]), Command(argv)]

    def files():
        return cksum(gpt2 / "encoder.json", gpt2 / "vocab.bpe") if gpt2 else ""

    making.add("subwords", commands, (train,), (model, making.dictionary), files)
    return model


def text_preparation(settings, name, data, gpt2=None, planned=False):
    """The steps from documents to binary data of a text to evaluate on, with the subwords of the corpus.

    ``planned``: the corpus is prepared by steps before these, with GPT-2's subwords where ``gpt2`` is given.
    """
    making = Making(settings, settings.home / "texts" / name)
    if not (planned or settings.dry_run or making.dictionary.is_file()):
        preparation = f"{HERE}/prepare.sh {' '.join(settings.preparation())}"
        raise InputError(f"no subwords in {making.home}; prepare the corpus first: {preparation}")
    of_gpt2 = gpt2 if planned else (making.home / "gpt2").is_dir()
    model = making.home / ("gpt2" if of_gpt2 else "sentencepiece.model")
    argv = python("examples.lm.corpus.documents", data, making.raw, "--test-only")
    raw = making.raw / "test.jsonl"
    making.add(f"text of {settings.corpus}, {name}", [Command(argv)], (), (raw,), lambda: listing(data))
    pieces = making.cut("test", model, lambda: cksum(making.dictionary))
    making.numbers({"test": pieces}, ["--srcdict", making.dictionary])
    return making.steps


def listing(folder):
    """Names, sizes and times of the files below a folder, as text: what is in them may be many gigabytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    entries = ((path.relative_to(folder), path.stat()) for path in files)
    return "\n".join(f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in entries)


# ---- train.sh ----------------------------------------------------------------------------------------------------
def train(argv):
    settings = Settings()
    if len(argv) < 2:
        raise InputError("give ENCODING, and tiny, base, gpt2_medium or wiki103; -h explains")
    encoding, size, *extra = argv
    settings.size(size)
    default = next((name for name, paper in PAPERS.items() if paper.size == size), "sandwich")
    paper = variable("PAPER", default)
    if paper not in PAPERS:
        raise InputError(f"PAPER={paper} is not one of {', '.join(PAPERS)}")
    if paper == "adaptive" and settings.scale != "paper":
        raise InputError("PAPER=adaptive is for SCALE=paper; give xpos or sandwich")
    need("fairseq-train")
    check_encodings([encoding])
    settings.check_binary()
    name = plain_name("NAME", variable("NAME", encoding))
    settings.run([training(settings, name, encoding, paper, size, settings.seed, extra)], "train.sh")


def training(settings, name, encoding, paper, size, seed, extra=()):
    """The training run of one system with the settings of a paper."""
    processes, paper_settings, scale = Processes(), PAPERS[paper], settings.here
    folder, binary = settings.system(name, paper, size, seed), settings.home / "binary"
    model = ["--arch", f"transformer_lm_{encoding.replace('-', '_')}_{size}", "--tokens-per-sample"]
    model += [str(settings.length(paper)), *shlex.split(scale.model)]
    if settings.scale == "paper":
        batch = batch_options(
            paper_settings, processes.number, count("BATCH", variable("BATCH", str(paper_settings.batch)))
        )
        schedule = shlex.split(f"{paper_settings.training} {PAPER_SAVING}")
        environment = {}
    else:
        processes.one(settings.scale)
        batch, schedule = shlex.split(scale.batch), shlex.split(scale.training)
        environment = {"CUDA_VISIBLE_DEVICES": variable("CUDA_VISIBLE_DEVICES", "0")}
    schedule += ["--seed", str(seed), *extra]
    launcher = processes.launcher()
    need(launcher[0])
    argv = [*launcher, binary, "--task", "language_modeling", "--user-dir", "fairseq_posenc", *model, "--criterion"]
    # fairseq's thread that reads ahead may abort the process when a run ends within an epoch: no buffer, no
    # thread.
    argv += ["adaptive_loss" if size == "wiki103" else "cross_entropy", "--sample-break-mode", "none"]
    argv += ["--data-buffer-size", "0", *batch, *schedule]
    # Two, because a run killed after its last checkpoint goes back to the previous one.
    argv += ["--keep-interval-updates", "2", "--no-epoch-checkpoints", "--save-dir", folder / "checkpoints"]
    argv += ["--log-format", "json", "--no-progress-bar", "--log-file", folder / "train.log"]

    def fingerprint():
        return f"{shown([*model, *schedule])}\n{cksum(binary / 'dict.txt')}"

    return Training(f"{name} {paper}-{size} seed {seed}", folder, argv, fingerprint, processes, (binary,), environment)


# ---- evaluate.sh, analyse.sh -------------------------------------------------------------------------------------
class Measuring:
    """The settings of evaluate.sh and analyse.sh from the environment: TOKENS, DEVICE, SEEDS, SIZE."""

    def __init__(self, settings):
        self.settings, scale = settings, settings.here
        tokens = variable("TOKENS", str(scale.tokens))
        self.tokens = None if tokens == "all" else count("TOKENS", tokens)
        device = variable("DEVICE", "cuda" if settings.scale == "paper" else "cpu")
        if device not in ("cpu", "cuda"):
            raise InputError(f"DEVICE={device} is not one of cpu, cuda")
        self.device, self.seeds = device, variable("SEEDS", settings.seed).split()
        for seed in self.seeds:
            count("SEEDS", seed)

    def systems(self, argv):
        """Check PAPER NAME,NAME,..; return the paper, the names and the size."""
        if len(argv) < 2:
            raise InputError("give xpos, sandwich or adaptive, and names of systems; -h explains")
        paper, names = choice(argv[0], tuple(PAPERS), ""), argv[1].split(",")
        size = self.settings.size(variable("SIZE", self.settings.size_of(paper)))
        need("fairseq-posenc")
        folder = self.settings.home / self.settings.binary(self.settings.text)
        if not (self.settings.dry_run or folder.is_dir()):
            raise InputError(f"no text in {folder}; make it with prepare.sh")
        for name in names:
            plain_name("name", name)
            for path in self.paths(paper, [name], size):
                if not (self.settings.dry_run or path.is_file()):
                    raise InputError(
                        f"no checkpoint {path}; train it with train.sh, or name another SCALE, WORK, CORPUS or SEED"
                    )
        return paper, names, size

    def paths(self, paper, names, size):
        """The checkpoints of systems, all seeds of one after the other."""
        return [
            self.settings.system(name, paper, size, seed) / "checkpoints" / "checkpoint_last.pt"
            for name in names
            for seed in self.seeds
        ]

    def command(self, measure, text, paper, names, size, arguments, silent):
        """The command that measures perplexity, resolution or receptive fields; ``arguments`` override the defaults."""
        settings, scale, length = self.settings, self.settings.here, self.settings.length(paper)
        json = f"results/cells/{'' if measure == 'extrapolate' else measure + '-'}{paper}-{size}-{text}.json"
        if measure == "extrapolate":
            paper_settings = PAPERS[paper]
            lengths = settings.scaled(paper, ",".join(f"@{length}" for length in paper_settings.lengths))
            argv = by_default(arguments, ("--protocol", paper_settings.protocol), ("--lengths", lengths))
            if "last-token" in argv:
                argv = by_default(argv, ("--segments", scale.segments))
            elif self.tokens:
                argv = by_default(argv, ("--tokens", self.tokens))
        elif measure == "resolution":
            argv = by_default(arguments, ("--lengths", f"{length},{2 * length}"), ("--texts", scale.texts))
        else:
            argv = by_default(arguments, ("--lengths", 4 * length), ("--segments", scale.gradients))
        argv = by_default(argv, ("--device", self.device), ("--json", json))
        paths = [path.relative_to(settings.home) for path in self.paths(paper, names, size)]
        systems = [name for name in names for _ in self.seeds]
        data = settings.binary(text)
        argv = ["fairseq-posenc", measure, data, "--path", *paths, "--names", *systems, *argv]
        return Command(argv, settings.home, silent=silent)


def by_default(argv, *defaults):
    """The argv, and each (option, value) whose option is not among them."""
    found = list(argv)
    for option, value in defaults:
        if not any(word == option or str(word).startswith(f"{option}=") for word in found):
            found += [option, str(value)]
    return found


def evaluate(argv):
    measure(["extrapolate", *argv], "evaluate.sh")


def analyse(argv):
    Settings()
    if not argv:
        raise InputError("give resolution or receptive-field; -h explains")
    choice(argv[0], ("resolution", "receptive-field"), "")
    measure(argv, "analyse.sh")


def measure(argv, script):
    settings = Settings()
    measuring = Measuring(settings)
    paper, names, size = measuring.systems(argv[1:])
    command = measuring.command(argv[0], settings.text, paper, names, size, argv[3:], settings.quiet)
    cells = Command(["mkdir", "-p", settings.home / "results" / "cells"])
    settings.run([Step(argv[0], [cells, command])], script)
