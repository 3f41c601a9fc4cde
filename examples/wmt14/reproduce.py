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
from examples.wmt14.settings import HERE, PAIRS, TEXTS, WORKLOADS, Settings
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
            result.run(result.systems())
        return
    with settings.results(result.folder, result.jobs):
        result.make()


def text_of(row):
    """The training text of a row, one of TEXTS."""
    return row.get("text") or TEXTS[0]


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
        if self.measure in ("grain", "lengths") and len(self.seeds) > 1:
            raise InputError(f"{self.name} uses one seed, but SEEDS={' '.join(self.seeds)}; give one")
        self.jobs = count("JOBS", variable("JOBS", "1"))
        self.rows = chosen_rows(read_table(self.file), "name", args["--only"], args["--task"], self.name, self.file)
        self.names = [row["name"] for row in self.rows]
        for row in self.rows:
            settings.text(self.pairs[0], text_of(row))
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

    def run(self, plan):
        self.settings.run(plan, "reproduce.sh", self.jobs)

    # ---- data, systems -------------------------------------------------------------------------------------------
    def systems(self):
        """The steps that prepare the language pairs without data, and that train and translate."""
        settings, plan = self.settings, []
        for pair in self.pairs:
            if settings.dry_run or not (settings.pair(pair) / "binary").is_dir():
                plan += steps.preparation(settings, pair, self.data)
            if any(text_of(row) == "joined" for row in self.rows):
                plan.append(steps.joining_training(settings, pair))
        known = {row["name"]: row for row in read_table(self.file)}
        rows, origins = with_origins({row["name"]: row for row in self.rows}, known), origin_names(known)
        for seed in self.seeds:
            for pair in self.pairs:
                for name, row in rows.items():
                    system = (name, row["encoding"], pair, self.size, seed, settings.row_options(row))
                    # In a job array, several jobs need the system from which theirs go on: one of them trains it.
                    plan.append(steps.training(settings, *system, text_of(row), origin_of(row), name in origins))
                    if name in self.names:
                        plan += steps.generation(settings, name, pair, self.size, seed, self.part)
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
        """Translate long sentences with every system whose encoding has no limit below their length."""
        settings, (seed,), plan = self.settings, self.seeds, self.systems()
        for pair in self.pairs:
            plan.append(steps.joining(settings, pair))
            plan += [self.limit(name, pair, seed) for name in self.names]
        self.run(plan)
        for pair in self.pairs:
            fitting = [name for name in self.names if self.fits(name, pair, seed)]
            plan = [steps.generation(settings, name, pair, self.size, seed, "joined")[1] for name in fitting]
            stem, (source, target) = f"results/{self.name}-{pair}", pair.split("-")
            argv = ["fairseq-posenc", "lengths", "--src", f"{pair}/joined/raw/test.{source}"]
            argv += ["--ref", f"{pair}/joined/raw/test.{target}"]
            argv += steps.hypotheses(settings, pair, self.size, seed, "joined", fitting)
            argv += ["--training-source", f"{pair}/raw/train.{source}", "--json", f"{stem}.json"]
            inputs = tuple(step.outputs[0] for step in plan)
            commands = [Command(argv, settings.home), self.drawing(stem, stem)]
            self.run([*plan, Step(f"{self.name} of {pair}", commands, inputs=inputs)])

    def limit(self, name, pair, seed):
        """The step that writes the limit of a system's sentence length to a file."""
        folder = self.settings.system(name, pair, self.size, seed)
        average, title = folder / "average.pt", f"limit of {name} {pair} seed {seed}"
        argv = python("examples.wmt14.limit", average, self.settings.pair(pair) / "binary")
        command = Command(argv, output=folder / "limit")
        at = mark(folder / "steps", title)
        return Step(title, [command], at, (average,), (folder / "limit",), lambda: cksum(average), folder)

    def fits(self, name, pair, seed):
        """Whether a system can translate the longest joined sentence; if not, print a line."""
        if self.settings.dry_run:
            return True
        limit = int((self.settings.system(name, pair, self.size, seed) / "limit").read_text())
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
