"""Finds the steps of a result, which is a line of results.tsv, and runs them."""

from fnmatch import fnmatchcase
from pathlib import Path

from examples.common.commands import Command, quoted
from examples.common.files import cksum, write_at_once
from examples.common.origins import origin_names, origin_of, with_origins
from examples.common.step import Step, mark
from examples.common.translation import python
from examples.common.variables import (
    check_encodings,
    chosen_rows,
    count,
    existing_folder,
    need,
    options,
    plain_name,
    read_table,
    result_line,
    variable,
)
from examples.lm import preparation, steps
from examples.lm.settings import HERE, OWN_CORPORA, PAPERS, Settings, scaled
from fairseq_posenc.errors import InputError

#: {measure that needs no training: command of fairseq-posenc that computes it}.
FORMS = {"resolution-form": "resolution", "bias-form": "receptive-field"}


def reproduce(argv):
    """Make a result, after the data, systems and numbers that it needs and that do not exist yet."""
    settings = Settings()
    if not argv:
        raise InputError("give the name of a table or figure, such as lex-table2; -h explains")
    row = result_line(HERE / "results.tsv", argv[0])
    paper = paper_of(row)
    known = ("--data", "--text", "--only", "--task", "--gpt2")
    args = options(argv[1:], known, several=("--text",), flags=("--train",))
    texts = dict(text_folder(argument) for argument in args["--text"])
    data, gpt2 = existing_folder("--data", args["--data"]), existing_folder("--gpt2", args["--gpt2"])
    need("fairseq-train", "fairseq-preprocess", "fairseq-posenc")
    if row["measure"] in FORMS:
        if any(args.values()):
            raise InputError(f"{row['name']} needs no text and no system; give only its name")
        make_form(settings, row)
        return
    result = Result(settings, row, paper, args, texts)
    check_encodings([row["encoding"] for row in result.rows])
    train_only = args["--train"] or args["--task"]
    # Only one run may write results, but several may train: one system per machine, for example.
    with settings.results(result.folder / "cells", result.jobs, lock=not train_only):
        plan = result.systems(data, gpt2, texts)
        settings.run(plan if train_only else [*plan, *result.measured()], "reproduce.sh", result.jobs)


def paper_of(row):
    """The paper whose settings and lengths a result has; only for "all", PAPER selects it."""
    paper = variable("PAPER", row["paper"])
    if row["name"] != "all" and paper != row["paper"]:
        raise InputError(f"PAPER={paper}, but {row['name']} has the settings of {row['paper']}; leave PAPER out")
    if paper not in ("xpos", "sandwich"):
        raise InputError(f"PAPER={paper} is not one of xpos, sandwich")
    return paper


def text_folder(argument):
    """The name and the folder of --text NAME=DIR."""
    name, _, folder = argument.partition("=")
    plain_name("--text", name)
    if name == "test":
        raise InputError("--text test is reserved for the test text of the corpus; choose another name")
    if not folder or not Path(folder).is_dir():
        raise InputError(f"--text {argument}: give NAME=DIR with a folder of documents")
    return name, existing_folder("--text", folder)


def make_form(settings, row):
    """Draw a figure from formulas, without training."""
    folder = settings.home / "results"
    argv = ["fairseq-posenc", FORMS[row["measure"]], "--closed-form", "--lengths", row["lengths"]]
    argv += ["--json", f"{row['name']}.json", *(["--dims", row["systems"]] if row["systems"] else [])]
    drawing = ["fairseq-posenc", "plot", f"{row['name']}.json", "--output", row["name"]]
    with settings.results(folder, 1):
        settings.run([Step(row["name"], [Command(argv, folder), Command(drawing, folder)])], "reproduce.sh")


class Result:
    """One result: its rows, texts and seeds, and the steps to it.

    Args:
        row: the line of results.tsv.
        paper: key of PAPERS; the systems have its settings.
        args: options of the command line.
        texts: {name: folder} of texts that replace the test text of the corpus.
    """

    def __init__(self, settings, row, paper, args, texts):
        self.settings, self.name, self.measure, self.paper = settings, row["name"], row["measure"], paper
        self.file, self.folder = HERE / "rows" / f"{row['rows']}.tsv", settings.home / "results"
        self.size, self.length = settings.size_of(paper), settings.length(paper)
        self.of = PAPERS[row["paper"]].length
        of_paper = " ".join(str(seed + 1) for seed in range(int(row["seeds"])))
        self.measurements = steps.Measurements(settings)
        self.seeds = self.measurements.seeds = settings.seeds(of_paper if settings.scale == "paper" else None)
        self.jobs = count("JOBS", variable("JOBS", "1"))
        self.rows = self.chosen(row["systems"].split(), args)
        self.names = list(dict.fromkeys(row["system"] for row in self.rows))
        self.lengths = [int(self.scaled(f"@{length}")) for length in row["lengths"].split(",")]
        self.baseline = row["baseline"] if row["baseline"] in self.names else self.names[0]
        self.check_tokens()
        self.texts = list(texts) or ["test"]
        # With several seeds, each seed has its own segments, as in the paper; most of the paper's deviations come from
        # them. Numbers on shared and on separate segments cannot be compared, so that they have files of their own.
        self.by_seed = self.measure == "last-token" and len(self.seeds) > 1
        # For the record of the result, without folders of this machine.
        self.command = (
            (f"PAPER={paper} " if self.name == "all" else "")
            + f"SCALE={settings.scale} CORPUS={settings.corpus} SEEDS={quoted(' '.join(self.seeds))} "
            + f"examples/lm/reproduce.sh {self.name}"
            + (f" --only {args['--only']}" if args["--only"] else "")
            + "".join(f" --text {name}=DIR" for name in texts)
        )

    def scaled(self, text):
        return scaled(self.of, self.length, text or "-")

    def chosen(self, patterns, args):
        """The rows of the systems in the result, or those that the options select."""
        rows = read_table(self.file)
        rows = [row for row in rows if any(fnmatchcase(row["system"], pattern) for pattern in patterns)]
        return chosen_rows(rows, "system", args["--only"], args["--task"], self.name, self.file)

    def check_tokens(self):
        tokens, longest = self.measurements.tokens, max(self.lengths)
        if self.measure == "pieces" and tokens and tokens % longest:
            raise InputError(f"TOKENS={tokens} is not a multiple of the longest length, {longest}")
        if self.name == "all" and not tokens:
            # The text ends at a multiple of the longest length, which is shorter for a system with a limit.
            raise InputError(f"{self.name} needs a number of tokens; leave TOKENS=all out")

    # ---- data, systems -------------------------------------------------------------------------------------------
    def systems(self, data, gpt2, texts):
        """The steps that prepare the corpus and texts without data, and that train each system once."""
        settings, plan = self.settings, []
        planned = settings.dry_run or not (settings.home / "binary").is_dir()
        if planned:
            kind = settings.corpus if settings.corpus in OWN_CORPORA else "documents"
            if kind == "documents" and not data:
                raise InputError("give --data DIR, a folder with one text file per document")
            for option, value in (("--data", data), ("--gpt2", gpt2)):
                if value and kind not in preparation.OPTIONS[option]:
                    raise InputError(f"{option} is not for {kind}; leave it out")
            plan += preparation.of_corpus(settings, kind, data, preparation.gpt2_folder(gpt2))
        for name, folder in texts.items():
            if settings.dry_run or not (settings.home / settings.binary(name)).is_dir():
                plan += preparation.of_text(settings, name, folder, gpt2, planned)
        known = {row["system"]: row for row in read_table(self.file)}
        rows, origins = with_origins({row["system"]: row for row in self.rows}, known), origin_names(known)
        for seed in self.seeds:
            for name, row in rows.items():
                extra = self.scaled(row["options"]).split() if row["options"] else []
                system = (name, row["encoding"], self.paper, self.size, seed, extra, origin_of(row))
                # In a job array, several jobs need the system from which theirs go on: one of them trains it.
                plan.append(steps.training(settings, *system, waits=name in origins))
        return plan

    # ---- results -------------------------------------------------------------------------------------------------
    def cells(self, text):
        """The file with all numbers on a text, relative to the folder of the corpus."""
        return f"results/cells/{self.name}-{text}{'-by-seed' if self.by_seed else ''}.json"

    def measured(self):
        """The steps that measure on each text, make the table and draw the figures."""
        settings, home = self.settings, self.settings.home
        plan = [self.measurement(text) for text in self.texts]
        paper_file = HERE / "paper" / f"{self.name}.tsv"
        paper = ["--paper", paper_file] if paper_file.is_file() else []
        argv = python("examples.lm.length_table", home, self.folder / self.name)
        argv += ["--settings", f"{self.paper}-{self.size}"]
        for row in self.rows:
            patterns = [self.scaled(row["pattern"]), row["pattern"].replace("@", "")]
            argv += ["--row", row["row"], row["system"], *patterns]
        for text in self.texts:
            argv += ["--cells", text, self.cells(text)]
        argv += ["--training-length", self.length, "--paper-training-length", PAPERS[self.paper].length]
        commands = [Command([*argv, "--seeds", *self.seeds, *paper, "--command", self.command])]
        if self.measure not in ("pieces", "last-token"):
            paper = []
        for text in self.texts:
            argv = ["fairseq-posenc", "plot", self.cells(text), "--output", f"results/{self.name}-{text}", *paper]
            commands.append(Command(argv, home))
        inputs = tuple(settings.home / self.cells(text) for text in self.texts)
        return [*plan, Step(f"table of {self.name}", commands, inputs=inputs)]

    def measurement(self, text):
        """The step that measures all systems on a text."""
        title = f"{self.measure} of {self.name} on {text}"
        if self.measure in ("pieces", "last-token"):
            commands = [self.perplexities(text, *group) for group in self.groups()]
        else:
            patterns = dict.fromkeys(self.scaled(row["pattern"]) for row in self.rows)
            argv = ["--lengths", ",".join(map(str, self.lengths)), "--patterns", ",".join(patterns)]
            commands = [self.measure_command(self.measure, text, self.names, argv)]
        checkpoints = self.measurements.checkpoints(self.paper, sorted(self.names), self.size)
        files = [*checkpoints, self.settings.home / self.settings.binary(text) / "test.bin"]
        output = self.settings.home / self.cells(text)
        inputs = (*(path.parent for path in checkpoints), files[-1].parent)
        return Cells(title, commands, mark(self.folder / "steps", title), inputs, (output,), files=files)

    def groups(self):
        """[(names, pattern, longest length or "-")]: one entry per pattern and limit, that of the baseline first."""
        groups = {}
        for row in sorted(self.rows, key=lambda row: row["system"] != self.baseline):
            key = (self.scaled(row["pattern"]), self.scaled(row["longest"]))
            groups.setdefault(key, [])
        for row in self.rows:
            names = groups[self.scaled(row["pattern"]), self.scaled(row["longest"])]
            names += [row["system"]] if row["system"] not in names else []
        return [(names, *key) for key, names in groups.items()]

    def perplexities(self, text, names, pattern, longest):
        lengths = [length for length in self.lengths if longest == "-" or length <= int(longest)]
        argv = ["--protocol", self.measure, "--lengths", ",".join(map(str, lengths)), "--patterns", pattern]
        if self.measure == "last-token":
            argv += ["--segments", self.settings.scale_settings.segments]
            argv += ["--segments-by-seed"] if self.by_seed else []
        return self.measure_command("extrapolate", text, names, [*argv, "--baseline", self.baseline])

    def measure_command(self, measure, text, names, argv):
        argv = [*argv, "--json", self.cells(text)]
        return self.measurements.command(measure, text, self.paper, names, self.size, argv, silent=True)


class Cells(Step):
    """A measurement that adds numbers to its file, or starts a new file if checkpoints or the text have changed.

    FILE.sources contains one line of cksum for each checkpoint and text that the numbers depend on, including those of
    systems that are not measured this time.

    Args:
        files: the checkpoints and the text of this measurement.
    """

    def __init__(self, *args, files):
        super().__init__(*args, fingerprint=self.sums)
        self.files = files

    def sums(self):
        return "\n".join(f"{cksum(path)} {path}" for path in self.files)

    def do(self, runner, quiet):
        self.drop_outdated(self.outputs[0])
        super().do(runner, quiet)

    def drop_outdated(self, file):
        sources = file.with_name(file.name + ".sources")
        before = sources.read_text(encoding="utf-8").splitlines() if sources.is_file() else []
        lines = self.sums().splitlines()
        paths = {line.split(" ", 2)[2] for line in lines}
        others = [line for line in before if line.split(" ", 2)[2] not in paths]
        if not set(before) - set(others) <= set(lines) or not all(map(is_current, others)):
            file.unlink(missing_ok=True)
            others = []
        write_at_once(sources, "".join(f"{line}\n" for line in [*lines, *others]))


def is_current(line):
    """Whether a file still matches its line of cksum."""
    checksum, size, path = line.split(" ", 2)
    try:
        return cksum(path) == f"{checksum} {size}"
    except InputError:
        return False
