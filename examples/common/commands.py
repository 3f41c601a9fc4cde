"""The commands of a recipe: printed for the shell, or run."""

import filecmp
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

SHOWN_LINES = 20


class CommandFailed(Exception):
    """A command has failed. The message says where its output is; it is empty if the command has printed the reason."""

    def __init__(self, message="", status=1):
        super().__init__(message)
        self.status = status


def quoted(argument):
    """An argument, quoted for the shell where necessary."""
    argument = str(argument)
    if re.fullmatch(r"[A-Za-z0-9_./:=@%+,-]+", argument):
        return argument
    return "'" + argument.replace("'", "'\\''") + "'"


def shown(argv):
    """A command as one line for the shell."""
    return " ".join(map(quoted, argv))


def say(line):
    print(line, flush=True)


@dataclass
class Command:
    """One command.

    Args:
        argv: the program and its arguments.
        folder: the working directory (default: that of the recipe).
        output: file for the standard output; it exists only if the command has succeeded.
        messages: file for the standard error, and for the standard output unless ``output`` is given. Its last lines
            are printed if the command fails.
        silent: discard the standard output.
    """

    argv: list
    folder: Optional[Path] = None
    output: Optional[Path] = None
    messages: Optional[Path] = None
    silent: bool = False

    def __str__(self):
        return shown(self.argv) + (f" > {quoted(self.output)}" if self.output else "")

    def run(self, runner, quiet, environment):
        if self.argv[:2] == ["rm", "-rf"]:
            for path in self.argv[2:]:
                shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink(missing_ok=True)
        elif self.argv[:2] == ["mkdir", "-p"]:
            Path(self.argv[2]).mkdir(parents=True, exist_ok=True)
        elif self.argv[0] == "mv":
            Path(self.argv[1]).rename(self.argv[2])
        else:
            self.call(runner, quiet, environment)

    def call(self, runner, quiet, environment):
        # The recipes' own modules print one line if something is wrong.
        own, messages = self.argv[0] == "python", self.messages
        if self.output and quiet and not own:
            messages = Path(f"{self.output}.messages")
        partial = Path(f"{self.output}.partial")
        out = open(partial, "wb") if self.output else subprocess.DEVNULL if self.silent else None  # noqa: SIM115
        error = open(messages, "wb") if messages else None  # noqa: SIM115
        try:
            if messages and not self.output:
                out = error
            status = runner.run(self.argv, self.folder, environment, stdout=out, stderr=error)
        finally:
            for file in {out, error} - {None, subprocess.DEVNULL}:
                file.close()
        if status:
            if messages:
                show_end(messages)
            where = f"its output is {partial}" if self.output else f"its messages are in {messages}"
            printed = status > 0 and not messages and (own or not self.output)
            how = "failed" if status > 0 else f"was ended by signal {-status}"
            where = f"; {where}" if self.output or messages else ""
            raise CommandFailed("" if printed else f"{self.argv[0]} {how}{where}", status if printed else 1)
        if self.output and Path(self.output).is_file() and filecmp.cmp(partial, self.output, shallow=False):
            partial.unlink()
        elif self.output:
            partial.replace(self.output)


def show_end(path):
    """Print the last lines of a file to the standard error."""
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()[-SHOWN_LINES:]
    print("\n".join(lines), file=sys.stderr, flush=True)
