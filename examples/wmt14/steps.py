"""The scripts of the translation recipe that run single steps; reproduce.py uses the same steps."""

from examples.common.commands import Command
from examples.common.files import cksum
from examples.common.origins import going_on
from examples.common.step import Step, mark
from examples.common.training import KEEP_MEMORY, Processes, Training, one_gpu, settings_of
from examples.common.translation import (
    FAST,
    STOCK,
    Preparation,
    archives,
    binary_data,
    generate_command,
    python,
    train_command,
)
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
from examples.wmt14 import settings as recipe
from examples.wmt14.settings import BASELINE, SIZES, Settings
from fairseq_posenc.errors import InputError


# ---- prepare.sh --------------------------------------------------------------------------------------------------
def prepare(argv):
    if not argv:
        raise InputError("give en-de or en-fr; -h shows the options")
    args = options(argv[1:], ("--data", "--corpus", "--bpe", "--mirror"), several=("--mirror",))
    settings = Settings(args["--corpus"])
    bpe = choice(args["--bpe"] or "subword_nmt", ("subword_nmt", "sentencepiece"), "--bpe ")
    settings.pair(argv[0])
    data = existing_folder("--data", args["--data"])
    if args["--mirror"] and settings.scale != "paper":
        raise InputError("--mirror is for SCALE=paper; give --data")
    if args["--mirror"] and data:
        raise InputError("--mirror is for a download, --data for files on disk; give one of them")
    need("python", "fairseq-preprocess")
    settings.run(preparation(settings, argv[0], data, bpe, args["--mirror"]), "prepare.sh")


def preparation(settings, pair, data=None, bpe="subword_nmt", mirrors=()):
    """The steps from downloads, or from files in ``data``, to binary data."""
    folder, scale = settings.pair(pair), settings.scale
    raw, prepared = folder / "raw", folder / "prepared"
    subwords = recipe.PAPER_SUBWORDS if scale == "paper" else recipe.MODELS[scale, "base"].subwords
    plan = Preparation(pair, raw, prepared, folder / "binary", workers(), subwords, bpe, settings.cleaned)
    steps = [Step("folder", [Command(["mkdir", "-p", prepared])])]
    if scale == "paper":
        store = data or settings.home / "archives"
        argv = python("examples.wmt14.corpus.download", pair, store, settings.home / "checksums.json")
        steps.append(archives(argv, data, mirrors, prepared))
        (files,) = steps[-1].outputs
        argv = python("examples.wmt14.corpus.extract", pair, store, raw)
        text = plan.text(argv, (files,), lambda: files.read_text(encoding="utf-8"))
    else:
        more = ["--most", recipe.SMOKE_SENTENCES] if settings.corpus == "grammar" else []
        text = plan.small_text(settings.corpus, data, more)
    return [*steps, text, *plan.steps()]


# ---- train.sh ----------------------------------------------------------------------------------------------------
def train(argv):
    if len(argv) < 3:
        raise InputError("give ENCODING, en-de or en-fr, and base or big; -h explains")
    encoding, pair, size, *extra = argv
    settings = Settings()
    settings.pair(pair)
    choice(size, SIZES, "size ")
    need("fairseq-train")
    check_encodings([encoding])
    settings.binary(pair)
    name = plain_name("NAME", variable("NAME", encoding))
    settings.run([training(settings, name, encoding, pair, size, settings.seed, extra)], "train.sh")


def training(settings, name, encoding, pair, size, seed, extra=(), text="single", origin=None, waits=False):
    """The training run of one system.

    Args:
        extra: further options of fairseq-train.
        text: its training text, one of TEXTS.
        origin: the Origin of the system from which it goes on, or None.
        waits: whether to wait while another run trains this system.
    """
    processes, scale = Processes(), settings.scale
    folder, binary = settings.system(name, pair, size, seed), settings.binary_of(pair, text)
    model = recipe.model_options(scale, size, pair, encoding)
    batch = recipe.batch_options(scale, size, processes)
    schedule = [*recipe.training_options(scale, size), "--seed", str(seed), *extra]
    before = settings.system(origin.name, pair, size, seed) if origin else None
    schedule, start, inputs = going_on(origin, before, schedule, (binary,))
    saving = ["--keep-interval-updates", "5", "--no-epoch-checkpoints"]
    launcher = processes.launcher()
    need(launcher[0])
    how = STOCK if scale == "paper" else FAST
    argv = train_command(launcher, binary, pair, model, batch, schedule, folder / "checkpoints", saving, how)
    argv += ["--log-file", folder / "train.log", *start]

    def fingerprint():
        chosen = settings_of([*model, *schedule], sorted(binary.glob("dict.*.txt")), origin)
        return chosen if text == "single" else f"{chosen}\n{text} text"

    environment = {} if scale == "paper" else {**one_gpu(), **KEEP_MEMORY}
    title = f"{name} {pair} {size} seed {seed}"
    return Training(title, folder, argv, fingerprint, processes, inputs, environment, waits=waits)


# ---- generate.sh -------------------------------------------------------------------------------------------------
def generate(argv):
    if len(argv) != 3:
        raise InputError("give NAME, en-de or en-fr, and base or big; -h explains")
    name, pair, size = argv
    settings = Settings()
    folder = settings.system(name, pair, size, settings.seed)
    count("AVERAGE", variable("AVERAGE", "5"))
    need("fairseq-generate", "fairseq-posenc")
    if not settings.dry_run:
        if not (folder / "checkpoints" / "checkpoint_last.pt").is_file():
            raise InputError(
                f"no checkpoints in {folder}/checkpoints; train it with train.sh, or name another SCALE, WORK or SEED"
            )
        binary = translated(settings, pair, settings.set)[0]
        if not binary.is_dir():
            maker = "joined.sh" if settings.set == "joined" else "prepare.sh"
            raise InputError(f"no data in {binary}; make it with {maker} {pair}")
    settings.run(generation(settings, name, pair, size, settings.seed, settings.set), "generate.sh")


def translated(settings, pair, part):
    """The folder of a set's binary data, and the name of the set there."""
    if part == "joined":
        return settings.pair(pair) / "joined" / "binary", "test"
    return settings.pair(pair) / "binary", part


def generation(settings, name, pair, size, seed, part):
    """The steps that average a system's last checkpoints and translate a set with the average."""
    data, folder = settings.pair(pair), settings.system(name, pair, size, seed)
    number = count("AVERAGE", variable("AVERAGE", "5"))
    checkpoints, average, output = folder / "checkpoints", folder / "average.pt", settings.translations(folder, part)
    binary, subset = translated(settings, pair, part)

    def averaged():
        return f"{number} checkpoints, {cksum(checkpoints / 'checkpoint_last.pt')}"

    def text_of():
        return f"{averaged()}, {cksum(*sorted(binary.glob(f'{subset}.*.bin')))}"

    argv = ["fairseq-posenc", "average", "--inputs", checkpoints, "--num-update-checkpoints", number]
    argv += ["--output", average]
    title = f"average {name} {pair} seed {seed}"
    averaging = [Command(argv, messages=folder / "average.log")]
    steps = [Step(title, averaging, mark(folder / "steps", title), (checkpoints,), (average,), averaged, folder)]

    options = ["--gen-subset", subset, "--beam", "4", "--lenpen", "0.6"]
    # fairseq's default limit is 200 tokens. Not far above the real lengths: --positions random:N draws numbers for the
    # longest translation that the limit allows.
    options += ["--max-len-a", "1.5", "--max-len-b", "10"] if part == "joined" else []
    options += ["--max-tokens", "8000", *(["--fp16"] if settings.scale == "paper" else [])]

    def translating():
        pieces = "sentencepiece" if (data / "prepared" / "sentencepiece.model").is_file() else "subword_nmt"
        return [Command(generate_command(binary, pair, average, options, pieces), output=output)]

    title = f"translate {part} {name} {pair} seed {seed}"
    steps.append(Step(title, translating, mark(folder / "steps", title), (average, binary), (output,), text_of, folder))
    return steps


# ---- score.sh ----------------------------------------------------------------------------------------------------
def score(argv):
    if len(argv) < 3:
        raise InputError("give en-de or en-fr, base or big, and names of systems; -h explains")
    pair, size, *names = argv
    settings = Settings()
    settings.system(names[0], pair, size, settings.seed)
    need("fairseq-posenc")
    for name in names:
        file = settings.translations(settings.system(name, pair, size, settings.seed), settings.set)
        if not (settings.dry_run or file.is_file()):
            raise InputError(f"no translations in {file}; make them with generate.sh")
    json = variable("JSON", f"{pair}/{size}/scores-{settings.set}-seed{settings.seed}.json")
    command = scoring(settings, pair, size, settings.seed, settings.set, names, json)
    settings.run([Step("score", [command])], "score.sh")


def scoring(settings, pair, size, seed, part, names, json):
    """The command that scores systems against the baseline, or against the first system if the baseline is missing."""
    home = settings.home
    argv = ["fairseq-posenc", "score", "--ref", settings.raw(pair, part, pair.split("-")[1]).relative_to(home)]
    # With paths relative to the folder of the scale, which the result records.
    return Command([*argv, *hypotheses(settings, pair, size, seed, part, names), "--json", json], home)


def hypotheses(settings, pair, size, seed, part, names):
    """The options --names NAME --hyp FILE of all systems, the baseline first."""
    argv = []
    for name in sorted(dict.fromkeys(names), key=lambda name: name != BASELINE):
        file = settings.translations(settings.system(name, pair, size, seed), part)
        argv += ["--names", name, "--hyp", file.relative_to(settings.home)]
    return argv


# ---- joined.sh ---------------------------------------------------------------------------------------------------
def joined(argv):
    if len(argv) != 1:
        raise InputError("give en-de or en-fr; -h explains")
    settings = Settings()
    settings.pair(argv[0])
    need("python", "fairseq-preprocess")
    settings.binary(argv[0])
    part = settings.pair(argv[0]) / "prepared" / f"bpe.test.{argv[0].split('-')[0]}"
    if not (settings.dry_run or part.is_file()):
        raise InputError(f"no subwords in {part}; run prepare.sh {argv[0]} again")
    settings.run([joining(settings, argv[0]), joining_training(settings, argv[0])], "joined.sh")


def same_subwords(data, pair, parts, folder):
    """The commands that make binary data of ``parts`` in a folder, with the dictionaries of a pair."""
    source, target = pair.split("-")
    argv = ["fairseq-preprocess", "--source-lang", source, "--target-lang", target]
    argv += ["--srcdict", data / "binary" / f"dict.{source}.txt", "--tgtdict", data / "binary" / f"dict.{target}.txt"]
    # With a fixed number of processes, the step is done for all machines of a job array.
    return binary_data([*argv, *parts], folder / "binary", folder, "1")


def joining(settings, pair):
    """The step that makes a test set of joined sentences."""
    data, (source, target) = settings.pair(pair), pair.split("-")
    folder = data / "joined"
    commands = [Command(["rm", "-rf", folder]), Command(["mkdir", "-p", folder / "raw"])]
    for language in (source, target):
        for text, out in (("raw/test", "raw/test"), ("prepared/bpe.test", "bpe.test")):
            argv = python("examples.wmt14.corpus.joined", data / f"{text}.{language}", folder / f"{out}.{language}")
            commands.append(Command(argv))
    commands += same_subwords(data, pair, ["--testpref", folder / "bpe.test"], folder)

    def fingerprint():
        texts = [sorted(data.glob(f)) for f in ("binary/dict.*.txt", "raw/test.*", "prepared/bpe.test.*")]
        return cksum(*(path for paths in texts for path in paths))

    title = f"joined test sentences of {pair}"
    at = mark(data / "prepared" / "steps", title)
    return Step(title, commands, at, (data / "binary",), (folder / "binary",), fingerprint, data / "prepared")


def joining_training(settings, pair):
    """The step that makes a training text with a share of joined sentences, beside the same validation set."""
    data, (source, target) = settings.pair(pair), pair.split("-")
    folder, prepared = data / "joined-training", data / "prepared"
    text = data / settings.training_text("single")
    argv = python("examples.wmt14.corpus.joined_training", text, folder / "bpe.train", source, target)
    commands = [Command(["rm", "-rf", folder]), Command(["mkdir", "-p", folder]), Command(argv)]
    parts = ["--trainpref", folder / "bpe.train", "--validpref", prepared / "bpe.valid"]
    commands += same_subwords(data, pair, parts, folder)

    def fingerprint():
        # The index has the length of each sentence, so another text has another one. The text itself may be 10 GB.
        return cksum(*sorted(data.glob("binary/dict.*.txt")), *sorted(data.glob("binary/*.idx")))

    title = f"joined training sentences of {pair}"
    at = mark(prepared / "steps", title)
    return Step(title, commands, at, (data / "binary",), (folder / "binary",), fingerprint, prepared)
