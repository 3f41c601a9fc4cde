"""A step of a recipe: its commands, what they read and write, and the mark that tells whether it is done."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from examples.common.commands import quoted, say
from examples.common.files import write_at_once


@dataclass(eq=False)
class Step:
    """A step.

    Args:
        title: its name on the terminal.
        commands: its commands in their order, or a function that returns them after the steps before this one.
        mark: file that exists if the step is done. Without a mark, the step runs every time and prints no title.
        inputs, outputs: files and folders that it reads and writes; they determine the order of the steps.
        fingerprint: function that returns, as text, what the result depends on, besides the commands and other steps.
        lock: folder that no other run may use at the same time.
        environment: variables of its commands.
    """

    title: str
    commands: object
    mark: Optional[Path] = None
    inputs: tuple = ()
    outputs: tuple = ()
    fingerprint: Optional[Callable[[], str]] = None
    lock: Optional[Path] = None
    environment: dict = field(default_factory=dict)

    def name(self):
        """The name of the step in the message that it is already done."""
        return self.title

    def listed(self):
        return self.commands() if callable(self.commands) else self.commands

    def lines(self):
        """The commands as text, with ``cd`` where the folder changes."""
        lines, folder = [], None
        for command in self.listed():
            if command.folder and command.folder != folder:
                folder = command.folder
                lines.append(f"cd {quoted(folder)}")
            lines.append(str(command))
        return lines

    def identity(self):
        """The content of the mark of the finished step."""
        return "\n".join([*self.lines(), self.fingerprint() if self.fingerprint else ""])

    def is_done(self):
        if self.mark is None or not all(Path(path).exists() for path in (self.mark, *self.outputs)):
            return False
        return self.mark.read_text(encoding="utf-8").rstrip("\n") == self.identity().rstrip("\n")

    def forget(self):
        """Remove the mark, so that the step is done again."""
        if self.mark:
            self.mark.unlink(missing_ok=True)

    def do(self, runner, quiet):
        begun = time.monotonic()
        identity = None
        if self.mark:
            identity = self.identity()
            say(f"{self.title} ...")
        for command in self.listed():
            command.run(runner, quiet, self.environment)
        if self.mark:
            self.mark.parent.mkdir(parents=True, exist_ok=True)
            write_at_once(self.mark, identity + "\n")
            say(f"{self.title}: {time.monotonic() - begun:.0f} s")


def mark(folder, title):
    """The file in a folder of marks for the step with this title."""
    return Path(folder) / re.sub(r"[^A-Za-z0-9.]", "-", title)
