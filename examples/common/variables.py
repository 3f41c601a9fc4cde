"""The environment variables and options of the recipes' scripts, and checks of their values."""

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

from examples.common.engine import ROOT, Command, Lock, Step, perform, program, show
from fairseq_posenc.errors import InputError
from fairseq_posenc.tables import read_tsv

SCALES = ("paper", "small", "smoke")


def variable(name, default=""):
    """An environment variable; an empty one counts as unset."""
    return os.environ.get(name) or default


def choice(value, choices, what):
    """The value. Raises InputError if it is none of the choices; ``what`` stands in front of it in the message."""
    if value not in choices:
        raise InputError(f"{what}{value} is not one of {', '.join(choices)}")
    return value


def count(name, value):
    """A whole number above 0."""
    if not re.fullmatch(r"[1-9][0-9]*", str(value)):
        raise InputError(f"{name} {value} is not a whole number above 0")
    return int(value)


def plain_name(what, name):
    """Check a name that becomes the name of a folder."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise InputError(
            f"{what} {name} is not a valid name; use letters, digits, '.', '_' and '-', starting with a letter or digit"
        )
    return name


def check_encodings(names):
    """Raise InputError unless all names are encodings."""
    # In another process, as the packages behind it take much memory, which the trainings want.
    code = "from fairseq_posenc.encodings import encoding_names; print(*encoding_names())"
    known = variable("known_encodings").split()
    if not known:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        known = done.stdout.split()
    if not known:
        raise InputError(f"fairseq_posenc cannot be imported by {sys.executable}; run scripts/setup.sh")
    for name in names:
        choice(name, known, "encoding ")


def need(*tools):
    """Raise InputError unless these programs can be run."""
    for tool in tools:
        if program(tool) is None:
            raise InputError(f"{tool} not found in {variable('VENV')}/bin or PATH; run scripts/setup.sh")


def workers():
    """The number of processes for work on text: WORKERS, or one per core."""
    return count("WORKERS", variable("WORKERS", str(os.cpu_count())))


def options(words, known, several=(), flags=()):
    """{option: value} of words such as --data DIR.

    Of those not given it is None; of ``several``, which may be repeated, a list; of ``flags``, which take no value, a
    bool.

    Raises InputError for an option that is not known, or without a value.
    """
    found = {name: [] if name in several else None for name in known}
    found |= dict.fromkeys(flags, False)
    words = list(words)
    while words:
        name = words.pop(0)
        if name not in found:
            raise InputError(f"option {name} is not one of {', '.join(found)}")
        if name in flags:
            found[name] = True
            continue
        if not words:
            raise InputError(f"{name} needs a value; -h shows the options")
        if name in several:
            found[name].append(words.pop(0))
        else:
            found[name] = words.pop(0)
    return found


def existing_folder(option, path):
    """The Path of a folder, or None for no path. Raises InputError if it is no folder."""
    if not path:
        return None
    if not os.path.isdir(path):
        raise InputError(f"{option} {path} is not a folder")
    return Path(path)


def read_table(path):
    """The rows of a TSV file, as dicts; "-" is None."""
    return [{key: None if cell == "-" else cell for key, cell in row.items()} for row in read_tsv(path)]


def chosen_rows(rows, column, only, says):
    """The rows with the names in ``only``, with commas between them, in a column; all for None.

    Raises InputError for a name that no row has; ``says`` is the end of the message.
    """
    known = [row[column] for row in rows]
    wanted = only.split(",") if only else known
    for name in wanted:
        if name not in known:
            raise InputError(f"--only {name} {says}")
    return [row for row in rows if row[column] in wanted]


class Places:
    """The settings of a recipe's scripts from the environment: SCALE, WORK, SEED, DRY_RUN, QUIET."""

    def __init__(self, recipe):
        self.scale = variable("SCALE", "paper")
        if self.scale not in SCALES:
            raise InputError(f"SCALE={self.scale} is not one of {', '.join(SCALES)}")
        self.dry_run, self.quiet = variable("DRY_RUN") == "1", variable("QUIET") == "1"
        self.work = Path(variable("WORK", str(ROOT / "work" / recipe))).absolute()

    @contextlib.contextmanager
    def results(self, folder, jobs):
        """The block makes results in a folder, with so many steps side by side: nobody else may, at the same time."""
        commands = [Command(["source", f"{variable('VENV')}/bin/activate"])]
        if jobs != 1:
            # Two processes that both want all cores are many times slower than two that share them.
            os.environ["OMP_NUM_THREADS"] = "1"
            commands.append(Command(["export", "OMP_NUM_THREADS=1"]))
        self.quiet = True
        if self.dry_run:
            show([Step("results", [*commands, Command(["mkdir", "-p", folder])])])
        with contextlib.nullcontext() if self.dry_run else Lock(folder):
            yield

    def run(self, steps, name, jobs=1):
        """Show the steps if DRY_RUN=1, else run them."""
        if self.dry_run:
            show(steps)
        else:
            perform(steps, name, jobs, self.quiet)
