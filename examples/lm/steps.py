"""The scripts of the language-model recipes that run single steps; reproduce.py uses the same steps."""

import shlex

from examples.common.commands import Command
from examples.common.origins import going_on
from examples.common.step import Step
from examples.common.training import KEEP_MEMORY, Processes, Training, one_gpu, settings_of
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
from examples.lm import preparation
from examples.lm.settings import OWN_CORPORA, PAPER_SAVING, PAPERS, Settings, batch_options
from fairseq_posenc.errors import InputError

KINDS = (*OWN_CORPORA, "documents", "text")


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
    args = options(argv, tuple(preparation.OPTIONS), several=("--mirror",))
    for option, value in args.items():
        if value and kind not in preparation.OPTIONS[option]:
            raise InputError(f"{option} is not for {kind}; leave it out")
    data, gpt2 = existing_folder("--data", args["--data"]), preparation.gpt2_folder(args["--gpt2"])
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
        steps = preparation.of_text(settings, text, data)
    else:
        steps = preparation.of_corpus(settings, kind, data, gpt2, args["--mirror"])
    settings.run(steps, "prepare.sh")


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


def training(settings, name, encoding, paper, size, seed, extra=(), origin=None, waits=False):
    """The training run of one system with the settings of a paper.

    Args:
        extra: further options of fairseq-train.
        origin: the Origin of the system from which it goes on, or None.
        waits: whether to wait while another run trains this system.
    """
    processes, paper_settings, scale = Processes(), PAPERS[paper], settings.scale_settings
    folder, binary = settings.system(name, paper, size, seed), settings.home / "binary"
    model = ["--arch", f"transformer_lm_{encoding.replace('-', '_')}_{size}", "--tokens-per-sample"]
    model += [str(settings.length(paper)), *shlex.split(scale.model)]
    if settings.scale == "paper":
        batch = batch_options(
            paper_settings, processes.number, count("BATCH", variable("BATCH", str(paper_settings.batch)))
        )
        schedule = shlex.split(f"{paper_settings.training} {PAPER_SAVING}")
        criterion, environment = "cross_entropy", {}
    else:
        processes.one(settings.scale)
        batch, schedule = shlex.split(scale.batch), shlex.split(scale.training)
        criterion = "sliced_cross_entropy"  # the same numbers in less time
        environment = {**one_gpu(), **KEEP_MEMORY}
    schedule += ["--seed", str(seed), *extra]
    before = settings.system(origin.name, paper, size, seed) if origin else None
    schedule, start, inputs = going_on(origin, before, schedule, (binary,))
    launcher = processes.launcher()
    need(launcher[0])
    argv = [*launcher, binary, "--task", "language_modeling", "--user-dir", "fairseq_posenc", *model, "--criterion"]
    # Without a buffer, because fairseq's thread that fills it may abort the process if a run ends within an epoch.
    argv += ["adaptive_loss" if size == "wiki103" else criterion, "--sample-break-mode", "none"]
    argv += ["--data-buffer-size", "0", *batch, *schedule]
    # Two checkpoints, because a run that is killed after its last checkpoint goes back to the previous one.
    argv += ["--keep-interval-updates", "2", "--no-epoch-checkpoints", "--save-dir", folder / "checkpoints"]
    argv += ["--log-format", "json", "--no-progress-bar", "--log-file", folder / "train.log", *start]

    def fingerprint():
        return settings_of([*model, *schedule], [binary / "dict.txt"], origin)

    title = f"{name} {paper}-{size} seed {seed}"
    return Training(title, folder, argv, fingerprint, processes, inputs, environment, waits=waits)


# ---- evaluate.sh, analyse.sh -------------------------------------------------------------------------------------
class Measurements:
    """The settings of evaluate.sh and analyse.sh from the environment: TOKENS, DEVICE, SEEDS, SIZE."""

    def __init__(self, settings):
        self.settings, scale = settings, settings.scale_settings
        tokens = variable("TOKENS", str(scale.tokens))
        self.tokens = None if tokens == "all" else count("TOKENS", tokens)
        device = variable("DEVICE", "cuda" if settings.scale == "paper" else "cpu")
        if device not in ("cpu", "cuda"):
            raise InputError(f"DEVICE={device} is not one of cpu, cuda")
        self.device, self.seeds = device, settings.seeds()

    def check_systems(self, argv):
        """Check the arguments PAPER NAME,NAME,..; return the paper, the names and the size."""
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
            for path in self.checkpoints(paper, [name], size):
                if not (self.settings.dry_run or path.is_file()):
                    raise InputError(
                        f"no checkpoint {path}; train it with train.sh, or name another SCALE, WORK, CORPUS or SEED"
                    )
        return paper, names, size

    def checkpoints(self, paper, names, size):
        """The checkpoints of systems; those of one system, one per seed, are next to each other."""
        return [
            self.settings.system(name, paper, size, seed) / "checkpoints" / "checkpoint_last.pt"
            for name in names
            for seed in self.seeds
        ]

    def command(self, measure, text, paper, names, size, arguments, silent):
        """The command that measures perplexity, resolution or receptive fields; ``arguments`` override its defaults."""
        settings, scale, length = self.settings, self.settings.scale_settings, self.settings.length(paper)
        json = f"results/cells/{'' if measure == 'extrapolate' else measure + '-'}{paper}-{size}-{text}.json"
        if measure == "extrapolate":
            paper_settings = PAPERS[paper]
            lengths = settings.scaled(paper, ",".join(f"@{length}" for length in paper_settings.lengths))
            argv = with_defaults(arguments, ("--protocol", paper_settings.protocol), ("--lengths", lengths))
            if "last-token" in argv:
                argv = with_defaults(argv, ("--segments", scale.segments))
            elif self.tokens:
                argv = with_defaults(argv, ("--tokens", self.tokens))
        elif measure == "resolution":
            argv = with_defaults(arguments, ("--lengths", f"{length},{2 * length}"), ("--texts", scale.texts))
        else:
            argv = with_defaults(arguments, ("--lengths", 4 * length), ("--segments", scale.gradients))
        argv = with_defaults(argv, ("--device", self.device), ("--json", json))
        paths = [path.relative_to(settings.home) for path in self.checkpoints(paper, names, size)]
        systems = [name for name in names for _ in self.seeds]
        data = settings.binary(text)
        argv = ["fairseq-posenc", measure, data, "--path", *paths, "--names", *systems, *argv]
        return Command(argv, settings.home, silent=silent)


def with_defaults(arguments, *defaults):
    """The arguments, followed by each default (option, value) whose option is not among them."""
    found = list(arguments)
    for option, value in defaults:
        if not any(str(argument).partition("=")[0] == option for argument in found):
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
    measurements = Measurements(settings)
    paper, names, size = measurements.check_systems(argv[1:])
    command = measurements.command(argv[0], settings.text, paper, names, size, argv[3:], settings.quiet)
    cells = Command(["mkdir", "-p", settings.home / "results" / "cells"])
    settings.run([Step(argv[0], [cells, command])], script)
