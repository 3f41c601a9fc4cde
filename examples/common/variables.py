"""Reads the environment variables and options of the recipes' scripts, and checks their values."""

import contextlib
import os
import re
from pathlib import Path

from examples.common.commands import Command
from examples.common.engine import perform, show
from examples.common.files import ROOT
from examples.common.locks import Lock
from examples.common.runner import program
from examples.common.step import Step
from fairseq_posenc.errors import InputError
from fairseq_posenc.tables import read_tsv

SCALES = ("paper", "small", "smoke")
#: How a module of encodings names one.
REGISTERED = re.compile(r'^@register_encoding\("([^"]+)"\)', re.MULTILINE)


def variable(name, default=""):
    """An environment variable; an empty one counts as unset."""
    return os.environ.get(name) or default


def choice(value, choices, what):
    """The value. Raises InputError unless it is one of the choices; the message begins with ``what`` and the value."""
    if value not in choices:
        raise InputError(f"{what}{value} is not one of {', '.join(choices)}")
    return value


def count(name, value):
    """The value of a variable as a whole number. Raises InputError unless it is above 0."""
    if not re.fullmatch(r"[1-9][0-9]*", str(value)):
        raise InputError(f"{name} {value} is not a whole number above 0")
    return int(value)


def plain_name(what, name):
    """The name. Raises InputError if it cannot name a folder; the message begins with ``what`` and the name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise InputError(
            f"{what} {name} is not a valid name; use letters, digits, '.', '_' and '-', starting with a letter or digit"
        )
    return name


def encodings():
    """The names of all encodings, sorted. Found in the text of the package, as importing PyTorch takes seconds."""
    modules = (ROOT / "fairseq_posenc" / "encodings").glob("*.py")
    return sorted(name for module in modules for name in REGISTERED.findall(module.read_text(encoding="utf-8")))


def check_encodings(names):
    """Raise InputError unless all names are encodings."""
    known = encodings()
    for name in names:
        choice(name, known, "encoding ")


def need(*tools):
    """Raise InputError unless all these programs are found."""
    for tool in tools:
        if program(tool) is None:
            raise InputError(f"{tool} not found in {variable('VENV')}/bin or PATH; run scripts/setup.sh")


def workers():
    """The number of processes for the preparation of text: WORKERS, or one per core."""
    return count("WORKERS", variable("WORKERS", str(os.cpu_count())))


def options(argv, known, several=(), flags=()):
    """{option: value} of arguments such as --data DIR; None for an option that is not given.

    Args:
        argv: the arguments.
        known: names of all options.
        several: options that may be repeated; their value is a list.
        flags: options without a value; their value is a bool.

    Raises:
        InputError: an option is not known, or has no value.
    """
    found = {name: [] if name in several else None for name in known}
    found |= dict.fromkeys(flags, False)
    argv = list(argv)
    while argv:
        name = argv.pop(0)
        if name not in found:
            raise InputError(f"option {name} is not one of {', '.join(found)}")
        if name in flags:
            found[name] = True
            continue
        if not argv:
            raise InputError(f"{name} needs a value; -h shows the options")
        if name in several:
            found[name].append(argv.pop(0))
        else:
            found[name] = argv.pop(0)
    return found


def existing_folder(option, path):
    """The Path of a folder, or None if no path is given. Raises InputError if it is not a folder."""
    if not path:
        return None
    if not os.path.isdir(path):
        raise InputError(f"{option} {path} is not a folder")
    return Path(path)


def read_table(path):
    """The rows of a TSV file as dictionaries, with None for "-"."""
    return [{key: None if cell == "-" else cell for key, cell in row.items()} for row in read_tsv(path)]


def result_line(file, name):
    """The line of results.tsv with this name. Raises InputError if there is none."""
    known = {row["name"]: row for row in read_table(file)}
    return known[choice(name, tuple(known), "")]


def chosen_rows(rows, column, only, task, what, file):
    """The rows of the selected systems, which a ``column`` names; all rows if neither ``only`` nor ``task`` is given.

    Args:
        rows: dictionaries.
        column: key of the names.
        only: value of --only, names separated by commas.
        task: value of --task, the number of one system, from 1.
        what: name of the result, for error messages.
        file: where the systems are listed, for error messages.

    Raises:
        InputError: a name or a number is not that of a system, or both options are given.
    """
    known = list(dict.fromkeys(row[column] for row in rows))
    wanted = only.split(",") if only else known
    for name in wanted:
        if name not in known:
            raise InputError(f"--only {name} is not a system of {what}; {file} lists them")
    if task:
        if only:
            raise InputError("--only and --task both select systems; give one of them")
        if count("--task", task) > len(known):
            raise InputError(f"--task {task} is not a system of {what}, which has {len(known)}; give 1 to {len(known)}")
        wanted = [known[int(task) - 1]]
    return [row for row in rows if row[column] in wanted]


class RecipeSettings:
    """The settings of a recipe's scripts from the environment: SCALE, WORK, SEED, DRY_RUN, QUIET.

    Args:
        recipe: name of the recipe, and of its folder in ``work``.
        scales: the values of SCALE, the default first.
    """

    def __init__(self, recipe, scales=SCALES):
        self.scale = variable("SCALE", scales[0])
        if self.scale not in scales:
            raise InputError(f"SCALE={self.scale} is not one of {', '.join(scales)}")
        self.seed = str(count("SEED", variable("SEED", "1")))
        self.dry_run, self.quiet = variable("DRY_RUN") == "1", variable("QUIET") == "1"
        self.work = Path(variable("WORK", str(ROOT / "work" / recipe))).absolute()

    def seeds(self, default=None):
        """The seeds of the training runs: SEEDS, or else the default, or else SEED."""
        seeds = variable("SEEDS", default or self.seed).split()
        for seed in seeds:
            count("SEEDS", seed)
        return seeds

    @contextlib.contextmanager
    def results(self, folder, jobs, lock=True):
        """Prepare for a block that runs up to ``jobs`` steps in parallel, and ``lock`` the folder of results for it."""
        commands = [Command(["source", f"{variable('VENV')}/bin/activate"])]
        if jobs != 1:
            # Two processes that both use all cores are many times slower than two that share them.
            os.environ["OMP_NUM_THREADS"] = "1"
            commands.append(Command(["export", "OMP_NUM_THREADS=1"]))
        self.quiet = True
        if self.dry_run:
            show([Step("results", [*commands, Command(["mkdir", "-p", folder])])])
        with Lock(folder) if lock and not self.dry_run else contextlib.nullcontext():
            yield

    def run(self, steps, name, jobs=1):
        """Print the steps if DRY_RUN=1, else run them."""
        if self.dry_run:
            show(steps)
        else:
            perform(steps, name, jobs, self.quiet)
