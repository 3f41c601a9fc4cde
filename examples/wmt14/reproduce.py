"""Finds the steps of a result, which is a line of results.tsv, and runs them."""

from examples.common.commands import Command, quoted, say
from examples.common.files import cksum
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
    read_table,
    result_line,
    variable,
)
from examples.wmt14 import steps
from examples.wmt14.settings import BASELINE, HERE, PAIRS, TEXTS, WORKLOADS, Settings, model_options, text_of
from fairseq_posenc.errors import InputError


def reproduce(argv):
    """Make a result, after the data, systems and translations that it needs and that do not exist yet."""
    if not argv:
        raise InputError("give the name of a table or figure, such as table1; -h explains")
    args = options(argv[1:], ("--pairs", "--only", "--task", "--data", "--corpus"))
    settings = Settings(args["--corpus"])
    result = Result(settings, result_line(HERE / "results.tsv", argv[0]), args)
    need("fairseq-train", "fairseq-generate", "fairseq-preprocess")
    check_encodings([row["encoding"] for row in result.rows])
    if args["--task"]:
        # Several runs may train and translate, one system each, but only one may write results.
        with settings.results(result.folder, result.jobs, lock=False):
            result.make_systems()
        return
    with settings.results(result.folder, result.jobs):
        result.make()


class Result:
    """One result: its rows, pairs and seeds, and the steps to it.

    Args:
        row: the line of results.tsv.
        args: options of the command line.
    """

    def __init__(self, settings, row, args):
        self.settings, self.name, self.measure, self.size = settings, row["name"], row["measure"], row["size"]
        self.file = HERE / "rows" / f"{row['rows']}.tsv"
        self.paper = HERE / "paper" / f"{row['paper']}.tsv" if row["paper"] else None
        self.part, self.folder = row["set"] or settings.set, settings.home / "results"
        if self.measure in WORKLOADS["paper"] and (args["--pairs"] or args["--data"] or args["--task"]):
            # It is measured on random tokens, without training.
            raise InputError(f"{self.name} needs no text and no training; leave --pairs, --data and --task out")
        default = PAIRS[:1] if settings.scale == "smoke" else PAIRS
        self.pairs = (args["--pairs"] or ",".join(default)).split(",")
        for pair in self.pairs:
            settings.pair(pair)
        self.data = existing_folder("--data", args["--data"])
        self.seeds = settings.seeds()
        if self.measure == "grain" and len(self.seeds) > 1:
            raise InputError(f"{self.name} uses one seed, but SEEDS={' '.join(self.seeds)}; give one")
        self.jobs = count("JOBS", variable("JOBS", "1"))
        rows = read_table(self.file)
        self.rows = chosen_rows(rows, "name", args["--only"], args["--task"], self.name, self.file)
        self.names = [row["name"] for row in self.rows]
        # The training texts of all rows, single sentences first. They set the bands of lengths, which are the same for
        # any choice of rows, so that tables can be joined.
        self.texts = [text for text in TEXTS if text in ("single", *map(text_of, rows))]
        # For the record of the result, without folders of this machine.
        self.command = (
            f"SCALE={settings.scale} CORPUS={settings.corpus} SEEDS={quoted(' '.join(self.seeds))} JOBS={self.jobs} "
            f"examples/wmt14/reproduce.sh {self.name} --pairs {','.join(self.pairs)}"
            + (f" --only {args['--only']}" if args["--only"] else "")
        )

    def make(self):
        {
            "table": self.make_table,
            "grain": self.make_grain,
            "lengths": self.make_lengths,
            "forward": self.make_cost,
            "memory": self.make_cost,
        }[self.measure]()

    def make_systems(self):
        """Train systems, and translate what the result needs."""
        if self.measure == "lengths":
            self.translate_joined()
        else:
            self.run(self.systems())

    def run(self, plan):
        self.settings.run(plan, "reproduce.sh", self.jobs)

    # ---- data, systems -------------------------------------------------------------------------------------------
    def systems(self):
        """The steps that prepare the language pairs, train all systems and translate."""
        return [*self.preparation(), *self.training(dict.fromkeys(self.pairs, self.names), self.part)]

    def preparation(self):
        """The steps that prepare the language pairs without data."""
        settings, plan = self.settings, []
        for pair in self.pairs:
            if settings.dry_run or not (settings.pair(pair) / "binary").is_dir():
                plan += steps.preparation(settings, pair, self.data)
            if "joined" in self.texts:
                plan.append(steps.joining_training(settings, pair))
        return plan

    def training(self, chosen, part):
        """The steps that train systems and translate a set with them; ``chosen``: {pair: their names}."""
        settings, plan = self.settings, []
        known = {row["name"]: row for row in read_table(self.file)}
        origins = origin_names(known)
        for seed in self.seeds:
            for pair, names in chosen.items():
                rows = with_origins({row["name"]: row for row in self.rows if row["name"] in names}, known)
                for name, row in rows.items():
                    system = (name, row["encoding"], pair, self.size, seed, settings.row_options(row))
                    # In a job array, several jobs need the system from which theirs go on: one of them trains it.
                    plan.append(steps.training(settings, *system, text_of(row), origin_of(row), name in origins))
                    if name in names:
                        plan += steps.generation(settings, name, pair, self.size, seed, part)
        return plan

    def translations(self, pair, seed, part):
        return [
            self.settings.translations(self.settings.system(name, pair, self.size, seed), part) for name in self.names
        ]

    # ---- results -------------------------------------------------------------------------------------------------
    def make_table(self):
        # Figure 3 is drawn from this table.
        name = f"{self.name}-table" if self.part == "valid" and not self.paper else self.name
        plan, scores = self.systems(), []
        for pair in self.pairs:
            for seed in self.seeds:
                plan.append(self.score(name, pair, seed))
                scores += plan[-1].outputs
        argv = python(
            "examples.wmt14.table", self.settings.home, self.folder / name, "--rows", self.file, "--pairs", *self.pairs
        )
        argv += ["--size", self.size, "--seeds", *self.seeds, "--set", self.part, "--only", *self.names]
        argv += ["--paper", self.paper] if self.paper else []
        commands = [Command([*argv, "--command", self.command])]
        if name != self.name:
            commands.append(self.drawing(f"results/{name}", f"results/{self.name}"))
        self.run([*plan, Step(f"table of {self.name}", commands, inputs=tuple(scores))])

    def score(self, name, pair, seed):
        """The step that scores the systems of one pair and seed against the baseline."""
        stem = f"results/{name}-scores-{pair}-seed{seed}"
        command = steps.scoring(self.settings, pair, self.size, seed, self.part, self.names, f"{stem}.json")
        command.messages = self.settings.home / f"{stem}.log"
        files = tuple(self.translations(pair, seed, self.part))
        title = f"score {name} {pair} seed {seed}"
        output = self.settings.home / f"{stem}.json"

        def fingerprint():
            return "".join(f" {cksum(file)}" for file in files)

        return Step(title, [command], mark(self.folder / "steps", title), files, (output,), fingerprint)

    def drawing(self, result, picture, *more):
        argv = ["fairseq-posenc", "plot", f"{result}.json", "--output", picture, *more]
        return Command(argv, self.settings.home)

    def make_grain(self):
        plan = self.systems()
        for pair in self.pairs:
            stem, (seed,) = f"results/{self.name}-{pair}", self.seeds
            argv = ["fairseq-posenc", "grain", "--ref", f"{pair}/raw/test.{pair.split('-')[1]}"]
            argv += steps.hypotheses(self.settings, pair, self.size, seed, self.part, self.names)
            commands = [Command([*argv, "--json", f"{stem}.json"], self.settings.home), self.drawing(stem, stem)]
            inputs = tuple(self.translations(pair, seed, self.part))
            plan.append(Step(f"{self.name} of {pair}", commands, inputs=inputs))
        self.run(plan)

    def make_lengths(self):
        """Score translations of ever longer sentences: by length with each seed, and in bands over all seeds."""
        settings, training = self.settings, []
        for text in self.texts:
            training += ["--training", text, settings.training_text(text)]
        for pair, names in self.translate_joined().items():
            if not names:  # each has said why
                continue
            plan, (source, target) = [], pair.split("-")
            for seed in self.seeds:
                stem = f"results/{self.name}-{pair}" + (f"-seed{seed}" if len(self.seeds) > 1 else "")
                argv = ["fairseq-posenc", "lengths", "--src", f"{pair}/joined/raw/test.{source}"]
                argv += ["--ref", f"{pair}/joined/raw/test.{target}"]
                argv += steps.hypotheses(settings, pair, self.size, seed, "joined", names)
                argv += ["--training-source", f"{pair}/raw/train.{source}", "--json", f"{stem}.json"]
                commands = [Command(argv, settings.home), self.drawing(stem, stem)]
                plan.append(Step(f"{self.name} of {pair} seed {seed}", commands))
            stem = f"{self.name}-bands-{pair}"
            argv = python("examples.wmt14.bands", settings.home, self.folder / stem, "--rows", self.file)
            argv += ["--pair", pair, "--size", self.size, "--seeds", *self.seeds, "--only", *names, *training]
            commands = [Command([*argv, "--baseline", BASELINE, "--command", self.command])]
            commands.append(self.drawing(f"results/{stem}", f"results/{self.name}-map-{pair}"))
            self.run([*plan, Step(f"bands of {self.name} of {pair}", commands)])

    def translate_joined(self):
        """Train the systems whose encoding has no limit below the longest joined sentence, and translate these.

        Returns {pair: names of these systems}.
        """
        plan = self.preparation()
        for pair in self.pairs:
            plan.append(steps.joining(self.settings, pair))
            plan += [self.limit(row, pair) for row in self.rows]
        self.run(plan)
        fitting = {pair: [name for name in self.names if self.fits(name, pair)] for pair in self.pairs}
        self.run(self.training(fitting, "joined"))
        return fitting

    def limit(self, row, pair):
        """The step that writes the limit of a system's sentence length to a file, before its training."""
        settings, binary = self.settings, self.settings.pair(pair) / "binary"
        folder, title = self.limits(row["name"], pair), f"limit of {row['name']} {pair}"
        options = model_options(settings.scale, self.size, pair, row["encoding"]) + settings.row_options(row)
        command = Command(python("examples.wmt14.limit", binary, *options), output=folder / "limit")
        return Step(
            title,
            [Command(["mkdir", "-p", folder]), command],
            mark(folder / "steps", title),
            (binary,),
            (folder / "limit",),
            lambda: cksum(*sorted(binary.glob("dict.*.txt"))),
        )

    def limits(self, name, pair):
        """The folder of the limit of a system's sentence length, which is the same for all seeds."""
        return self.settings.system(name, pair, self.size, self.seeds[0])

    def fits(self, name, pair):
        """Whether a system can translate the longest joined sentence; if not, print a line."""
        if self.settings.dry_run:
            return True
        limit = int((self.limits(name, pair) / "limit").read_text())
        longest = 1
        for path in (self.settings.pair(pair) / "joined").glob("bpe.test.*"):
            with open(path, "rb") as lines:
                longest = max(longest, *(len(line.split()) + 1 for line in lines))
        if longest > limit:
            say(f"{name} is left out: it reads at most {limit} subwords, but the longest sentence has {longest}")
        return longest <= limit

    def make_cost(self):
        """Measure the time or the memory of the encodings."""
        argv = ["fairseq-posenc", "bench", "--measure", self.measure]
        argv += ["--encodings", ",".join(row["encoding"] for row in self.rows)]
        argv += [*WORKLOADS[self.settings.scale][self.measure].split(), "--json", f"results/{self.name}.json"]
        stem, paper = f"results/{self.name}", ["--paper", self.paper] if self.paper else []
        commands = [Command(argv, self.settings.home), self.drawing(stem, stem, *paper)]
        self.run([Step(self.name, commands)])
