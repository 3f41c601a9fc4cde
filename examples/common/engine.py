"""Steps of a recipe: shown as plain commands, or done once, side by side, and again only when something has changed.

A step has commands, inputs and outputs. One that reads what another writes comes after it. When it is done, a file, its
mark, keeps its commands and the checksums of what it was made of; where these are others, it is done again, and so is
all that comes after it.

A run may end at any moment, by Ctrl-C or ``kill -9``: a mark is written last, a process of its own ends the commands
that a dead run leaves behind, and the locks of a run go with its last process.
"""

import contextlib
import fcntl
import filecmp
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from fairseq_posenc.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
SHOWN_LINES = 20
#: How long a run waits for the last processes of one that was killed.
LOCK_SECONDS = 3

#: Reads "+ GROUP" and "- GROUP" for process groups that start and end; kills those that are left when its input ends.
WATCH = """
trap '' INT TERM HUP
running=
while read -r sign group; do
    others=
    for one in $running; do [ "$one" = "$group" ] || others="$others $one"; done
    running=$others
    [ "$sign" = - ] || running="$others $group"
done
for group in $running; do kill -s KILL -- "-$group"; done 2>/dev/null
"""


class CommandFailed(Exception):
    """A command has failed; the message says where its output is, or is empty where the command spoke for itself."""

    def __init__(self, message="", status=1):
        super().__init__(message)
        self.status = status


def quoted(word):
    """Quote a word for the shell."""
    word = str(word)
    if re.fullmatch(r"[A-Za-z0-9_./:=@%+,-]+", word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def shown(words):
    return " ".join(map(quoted, words))


def cksum(*paths):
    """The checksum and size of files one after the other, as the command cksum prints them for their contents."""
    with subprocess.Popen(["cksum"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=False) as process:
        for path in paths:
            try:
                with open(path, "rb") as file:
                    shutil.copyfileobj(file, process.stdin, 1 << 20)
            except OSError as error:
                process.stdin.close()
                raise InputError(f"cannot read {path}: {error.strerror}; run the steps before this one") from None
        process.stdin.close()
        return process.stdout.read().decode().strip()


def program(name):
    """The path of a program: in PATH, or beside this Python, which itself is meant by "python"."""
    if name == "python":
        return sys.executable
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


@dataclass
class Command:
    """One command.

    Args:
        words: the program and its arguments.
        folder: that it runs in (default: where the recipe was called).
        output: a file for what it prints, which is there only when it has succeeded.
        messages: a file for all that it says, whose end is shown where it fails.
        silent: what it prints to the standard output is of no interest.
    """

    words: list
    folder: Optional[Path] = None
    output: Optional[Path] = None
    messages: Optional[Path] = None
    silent: bool = False

    def __str__(self):
        return shown(self.words) + (f" > {quoted(self.output)}" if self.output else "")

    def run(self, runner, quiet, environment):
        if self.words[:2] == ["rm", "-rf"]:
            for path in self.words[2:]:
                shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink(missing_ok=True)
        elif self.words[:2] == ["mkdir", "-p"]:
            Path(self.words[2]).mkdir(parents=True, exist_ok=True)
        elif self.words[0] == "mv":
            Path(self.words[1]).rename(self.words[2])
        else:
            self.call(runner, quiet, environment)

    def call(self, runner, quiet, environment):
        # The modules of the recipes say in one line what is wrong.
        own, messages = self.words[0] == "python", self.messages
        if self.output and quiet and not own:
            messages = Path(f"{self.output}.messages")
        partial = Path(f"{self.output}.partial")
        # Where the output has a file of its own, only the rest are messages.
        out = open(partial, "wb") if self.output else subprocess.DEVNULL if self.silent else None  # noqa: SIM115
        error = open(messages, "wb") if messages else None  # noqa: SIM115
        try:
            if messages and not self.output:
                out = error
            status = runner.run(self.words, self.folder, environment, stdout=out, stderr=error)
        finally:
            for file in {out, error} - {None, subprocess.DEVNULL}:
                file.close()
        if status:
            if messages:
                show_end(messages)
            where = f"its output is {partial}" if self.output else f"its messages are in {messages}"
            spoke = status > 0 and not messages and (own or not self.output)
            how = "failed" if status > 0 else f"was ended by signal {-status}"
            where = f"; {where}" if self.output or messages else ""
            raise CommandFailed("" if spoke else f"{self.words[0]} {how}{where}", status if spoke else 1)
        if self.output and Path(self.output).is_file() and filecmp.cmp(partial, self.output, shallow=False):
            partial.unlink()
        elif self.output:
            partial.replace(self.output)


def show_end(path):
    """Print the last lines of a file to the standard error."""
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()[-SHOWN_LINES:]
    print("\n".join(lines), file=sys.stderr, flush=True)


@dataclass(eq=False)
class Step:
    """A step.

    Args:
        title: what it is called on the terminal.
        commands: that do it, in this order; or a function that returns them when all before the step is done.
        mark: a file that is there when it is done (default: it is done every time, without a word).
        inputs, outputs: files and folders that it reads and writes; they say what comes before what.
        made_of: a function that returns, as text, what the result depends on beside the commands and other steps.
        lock: a folder in which nobody else may be at work.
        environment: variables of its commands.
    """

    title: str
    commands: object
    mark: Optional[Path] = None
    inputs: tuple = ()
    outputs: tuple = ()
    made_of: Optional[Callable[[], str]] = None
    lock: Optional[Path] = None
    environment: dict = field(default_factory=dict)

    def name(self):
        """The title of a step that is already done."""
        return self.title

    def listed(self):
        return self.commands() if callable(self.commands) else self.commands

    def lines(self):
        """The commands as text; a change of folder is a command too."""
        lines, folder = [], None
        for command in self.listed():
            if command.folder and command.folder != folder:
                folder = command.folder
                lines.append(f"cd {quoted(folder)}")
            lines.append(str(command))
        return lines

    def identity(self):
        """The content of the mark of the finished step."""
        return "\n".join([*self.lines(), self.made_of() if self.made_of else ""])

    def is_done(self):
        if self.mark is None or not all(Path(path).exists() for path in (self.mark, *self.outputs)):
            return False
        # The last line ends too, as it always has.
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
            partial = self.mark.with_name(self.mark.name + ".partial")
            partial.write_text(identity + "\n", encoding="utf-8")
            partial.replace(self.mark)
            say(f"{self.title}: {time.monotonic() - begun:.0f} s")


def say(line):
    print(line, flush=True)


def mark(folder, title):
    """The mark of a step with this title in a folder of marks."""
    return Path(folder) / re.sub(r"[^A-Za-z0-9.]", "-", title)


class Lock:
    """The lock file of a folder. The system releases it when the processes that hold it end, however they end."""

    held = {}  # {path: how often this process has it}
    files = {}
    guard = threading.Lock()

    def __init__(self, folder, name=".lock"):
        self.folder, self.path = Path(folder), Path(folder) / name

    def __enter__(self):
        with Lock.guard:
            if self.path not in Lock.files:
                self.folder.mkdir(parents=True, exist_ok=True)
                Lock.files[self.path] = self.acquired()
            Lock.held[self.path] = Lock.held.get(self.path, 0) + 1
        return self

    def __exit__(self, *_):
        with Lock.guard:
            Lock.held[self.path] -= 1
            if not Lock.held[self.path]:
                # Removed while it is held: who waits for it sees that it is another file by then.
                self.path.unlink(missing_ok=True)
                os.close(Lock.files.pop(self.path))

    def acquired(self):
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.exists(self.path) and os.path.samestat(os.fstat(file), os.stat(self.path)):
                    break
                os.close(file)
            except BlockingIOError:
                holder = os.pread(file, 200, 0).decode(errors="replace").strip() or "another process"
                os.close(file)
                if time.monotonic() > deadline:
                    raise InputError(f"{holder} is working in {self.folder}; wait until it has finished") from None
                time.sleep(0.1)
            except OSError:
                break  # a file system without locks
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        return file


class Runner:
    """Runs commands, each in a process group of its own, and ends all of them when it is stopped or killed."""

    def __init__(self):
        self.guard, self.stopping, self.processes = threading.Lock(), False, set()
        self.watch = subprocess.Popen(
            ["sh", "-c", WATCH],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def start(self, words, folder, environment, **streams):
        path = program(words[0])
        if path is None:
            raise InputError(f"{words[0]} not found; run scripts/setup.sh")
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
        with self.guard:
            if self.stopping:
                raise KeyboardInterrupt
            # Whatever it leaves behind has the locks as well.
            process = subprocess.Popen(
                [path, *map(str, words[1:])],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=tuple(Lock.files.values()),
                **streams,
            )
            self.tell("+", process)
            self.processes.add(process)
        return process

    def end(self, process):
        """Wait for a process; return its status."""
        status = process.wait()
        with self.guard:
            self.processes.discard(process)
            self.tell("-", process)
            if self.stopping:
                raise KeyboardInterrupt
        return status

    def run(self, words, folder, environment, **streams):
        return self.end(self.start(words, folder, environment, **streams))

    def tell(self, sign, process):
        os.write(self.watch.stdin.fileno(), f"{sign} {process.pid}\n".encode())

    def stop(self):
        """End all processes: first with SIGTERM, then with SIGKILL."""
        with self.guard:
            self.stopping = True
            processes = list(self.processes)
        for number, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, None)):
            for process in processes:
                if process.returncode is None:
                    with_group(process.pid, number)
            deadline = time.monotonic() + (seconds or 5)
            while any(process.returncode is None for process in processes) and time.monotonic() < deadline:
                time.sleep(0.05)

    def close(self):
        self.watch.stdin.close()
        self.watch.wait()


def with_group(group, number):
    """Send a signal to a process group that may be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def needs(steps):
    """{step: those of the steps that make what it reads}."""
    makers = {str(path): step for step in steps for path in step.outputs}
    return {
        step: {makers[str(path)] for path in step.inputs if str(path) in makers and makers[str(path)] is not step}
        for step in steps
    }


def dependents(step, before):
    """All steps that depend on this one, directly or indirectly."""
    found, left = set(), [step]
    while left:
        last = left.pop()
        new = [other for other in before if last in before[other] and other not in found]
        found.update(new)
        left += new
    return found


def show(steps):
    """Print the commands of all steps, ready to paste into a shell."""
    modules = False
    for step in steps:
        for line in step.lines():
            if line.startswith("python -m examples.") and not modules:
                modules = True
                say(f"export PYTHONPATH={quoted(ROOT)}")
            say(line)


def perform(steps, name, jobs=1, quiet=False):
    """Do the steps that are not done, up to ``jobs`` at a time.

    A failed step is reported at once; its dependents are skipped, and all other steps are done.

    Args:
        name: of the program, in front of error messages.

    Raises:
        CommandFailed: steps have failed, with a summary where there is more than one.
        KeyboardInterrupt: after the end of all commands.
    """
    before, waiting, finished, failed, running = needs(steps), list(steps), set(), [], {}
    runner = Runner()
    pool = ThreadPoolExecutor(jobs)
    try:
        while waiting or running:
            for step in list(waiting):
                if before[step] & set(failed):
                    waiting.remove(step)
                    failed.append(step)
                elif before[step] <= finished and len(running) < jobs:
                    waiting.remove(step)
                    running[pool.submit(work, step, dependents(step, before), runner, quiet)] = step
            for future in wait(running, return_when=FIRST_COMPLETED)[0]:
                step = running.pop(future)
                try:
                    future.result()
                    finished.add(step)
                except (InputError, CommandFailed) as error:
                    failed.append(step)
                    step.error = error
                    if str(error):
                        print(f"{name}: error: {error}", file=sys.stderr, flush=True)
    except BaseException:
        before_cleaning = [signal.signal(number, signal.SIG_IGN) for number in interruptions()]
        runner.stop()
        pool.shutdown()
        for number, handler in zip(interruptions(), before_cleaning):
            signal.signal(number, handler)
        raise
    finally:
        pool.shutdown()
        runner.close()
    errors = [step for step in failed if hasattr(step, "error")]
    if errors:
        titles = "; ".join(step.title for step in errors)
        summary = f"failed: {titles}; the messages above say why; run the same command again to continue"
        status = max(getattr(step.error, "status", 2) for step in errors)
        raise CommandFailed(summary if len(errors) > 1 else "", status)


def interruptions():
    """The signals that end a run, where Python can handle them."""
    if threading.current_thread() is threading.main_thread():
        return (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return ()


def work(step, after, runner, quiet):
    """Do a step unless it is done; then its dependents are done again too."""
    if step.is_done():
        say(f"{step.name()}: already done")
        return
    with Lock(step.lock) if step.lock else contextlib.nullcontext():
        # First, or they would look done after a kill between this step and them.
        for other in [step, *after] if step.mark else ():
            other.forget()
        step.do(runner, quiet)
