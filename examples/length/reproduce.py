"""Finds the steps of a result, which is a line of results.tsv, and runs them."""

from examples.common.commands import Command, quoted
from examples.common.step import Step
from examples.common.translation import python
from examples.common.variables import (
    check_encodings,
    chosen_rows,
    count,
    need,
    options,
    read_table,
    result_line,
    variable,
)
from examples.length import steps
from examples.length.bands import bands
from examples.length.settings import HERE, Settings, lengths_of
from examples.length.tasks import find
from fairseq_posenc.errors import InputError


def reproduce(argv):
    """Make a result, after the examples, systems and answers that it needs and that do not exist yet."""
    settings, file = Settings(), HERE / "results.tsv"
    name, *argv = argv if argv and not argv[0].startswith("-") else [read_table(file)[0]["name"], *argv]
    result = Result(settings, result_line(file, name), options(argv, ("--tasks", "--only")))
    need("fairseq-train", "fairseq-generate", "fairseq-interactive", "fairseq-preprocess")
    check_encodings([row["encoding"] for row in result.rows])
    plan = [*result.systems(), result.table()]
    with settings.results(result.folder, result.jobs):
        settings.run(plan, "reproduce.sh", result.jobs)


class Result:
    """One result: its form of models, tasks, rows and seeds, and the steps to it.

    Args:
        row: the line of results.tsv.
        args: options of the command line.
    """

    def __init__(self, settings, row, args):
        self.settings, self.name, self.form = settings, row["name"], row["form"]
        scale, self.folder = settings.scale_settings, settings.home / "results"
        self.file = HERE / "rows" / f"{row['rows']}.tsv"
        self.paper = HERE / "paper" / f"{row['paper']}.tsv" if row["paper"] else None
        tasks = args["--tasks"].split(",") if args["--tasks"] else row["tasks"].split(",")[: scale.tasks]
        self.tasks = [find(task) for task in tasks]
        if len(set(tasks)) != len(tasks):
            raise InputError(f"--tasks {args['--tasks']} names a task twice; name each once")
        for task in self.tasks:
            lengths = lengths_of(task, scale, self.form)
            bands(lengths.trained, lengths.longest)
        rows = read_table(self.file)
        self.rows = chosen_rows(rows, "name", args["--only"], None, self.name, self.file)
        if not args["--only"]:
            self.rows = self.rows[: scale.systems]
        seeds = scale.seeds or int(row["seeds"])
        self.seeds = settings.seeds(" ".join(str(seed + 1) for seed in range(seeds)))
        self.jobs = count("JOBS", variable("JOBS", "1"))
        # For the record of the result, without folders of this machine.
        self.command = (
            f"SCALE={settings.scale} SEEDS={quoted(' '.join(self.seeds))} JOBS={self.jobs} "
            + (f"UPDATES={settings.updates} " if settings.updates else "")
            + f"examples/length/reproduce.sh {self.name}"
            + "".join(f" {option} {args[option]}" for option in ("--tasks", "--only") if args[option])
        )

    def systems(self):
        """The steps that prepare the tasks, and that train and test each system on each of them."""
        settings, form, plan = self.settings, self.form, []
        for task in self.tasks:
            plan += [steps.preparation(settings, task), steps.binarisation(settings, task, form)]
        for seed in self.seeds:
            for task in self.tasks:
                for row in self.rows:
                    system = (settings, task, form, row["name"])
                    plan.append(steps.training(*system, row["encoding"], seed, row["options"] or ""))
                    plan += steps.generation(*system, seed)
        return plan

    def table(self):
        """The step that makes the table, and draws the heat map and the curves."""
        output, home = self.folder / self.name, self.settings.home
        argv = python("examples.length.table", home, output, "--form", self.form, "--rows", self.file)
        argv += ["--tasks", *(task.name for task in self.tasks), "--only", *(row["name"] for row in self.rows)]
        argv += ["--seeds", *self.seeds, *(["--paper", self.paper] if self.paper else []), "--command", self.command]
        commands, inputs = [Command(argv)], []
        for source, picture in ((f"{self.name}.json", "heat-map"), (f"{self.name}-lengths.tsv", "curves")):
            drawing = ["fairseq-posenc", "plot", f"results/{source}", "--output", f"results/{self.name}-{picture}"]
            commands.append(Command(drawing, home, silent=True))
        for seed in self.seeds:
            for task in self.tasks:
                for row in self.rows:
                    folder = self.settings.system(task, self.form, row["name"], seed)
                    inputs += [folder / "free.log", folder / "oracle.log"]
        return Step(f"table of {self.name}", commands, inputs=tuple(inputs))
