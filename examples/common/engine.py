"""Run the steps of a recipe in parallel, each of them once, or print them as plain commands.

A step has commands, inputs and outputs. It runs after the steps that write its inputs. When it is done, its commands
and the checksums of its inputs are written to a file, its mark. If they have changed in the next run, the step and
all steps that depend on it are repeated.

A run may end at any moment, by Ctrl-C or ``kill -9``: a mark is written last, a separate process ends the commands
that a killed run leaves behind, and a lock is released when the last process of its run ends.
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

from examples.common.files import write_at_once
from fairseq_posenc.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
SHOWN_LINES = 20
#: How long a run waits for the last processes of a killed run.
LOCK_SECONDS = 3

#: Reads "+ GROUP" and "- GROUP" when a process group starts and ends; at the end of its input, kills the others.
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


def cksum(*paths):
    """Checksum and size of the concatenated contents of files, as printed by the command cksum."""
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
    """The path of a program: in PATH, or in the folder of this Python; "python" is this Python."""
    if name == "python":
        return sys.executable
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


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


def say(line):
    print(line, flush=True)


def mark(folder, title):
    """The file in a folder of marks for the step with this title."""
    return Path(folder) / re.sub(r"[^A-Za-z0-9.]", "-", title)


class Lock:
    """The lock file of a folder. The system releases it when the last process that holds it has ended or was killed."""

    held = {}  # {path: how often this process has acquired it}
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
                # Removed before it is released: a waiting run sees that its file is no longer the one at this path.
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
    """Runs each command in its own process group, and ends all commands when it is stopped or killed."""

    def __init__(self):
        self.guard, self.stopping, self.processes = threading.Lock(), False, set()
        self.watch = subprocess.Popen(
            ["sh", "-c", WATCH],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def start(self, argv, folder, environment, **streams):
        path = program(argv[0])
        if path is None:
            raise InputError(f"{argv[0]} not found; run scripts/setup.sh")
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
        with self.guard:
            if self.stopping:
                raise KeyboardInterrupt
            # Its child processes inherit the locks too.
            process = subprocess.Popen(
                [path, *map(str, argv[1:])],
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

    def run(self, argv, folder, environment, **streams):
        return self.end(self.start(argv, folder, environment, **streams))

    def pause(self, seconds):
        """Wait for so many seconds. Raises KeyboardInterrupt when the run is stopped."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.stopping:
                raise KeyboardInterrupt
            time.sleep(0.1)

    def tell(self, sign, process):
        os.write(self.watch.stdin.fileno(), f"{sign} {process.pid}\n".encode())

    def stop(self):
        """End all processes with SIGTERM, and after ten seconds with SIGKILL."""
        with self.guard:
            self.stopping = True
            processes = list(self.processes)
        for number, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, None)):
            for process in processes:
                if process.returncode is None:
                    signal_group(process.pid, number)
            deadline = time.monotonic() + (seconds or 5)
            while any(process.returncode is None for process in processes) and time.monotonic() < deadline:
                time.sleep(0.05)

    def close(self):
        self.watch.stdin.close()
        self.watch.wait()


def signal_group(group, number):
    """Send a signal to a process group, unless it has ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def needs(steps):
    """{step: the steps that write its inputs}."""
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
    """Print the commands of all steps, ready to be pasted into a shell."""
    modules = False
    for step in steps:
        for line in step.lines():
            if line.startswith("python -m examples.") and not modules:
                modules = True
                say(f"export PYTHONPATH={quoted(ROOT)}")
            say(line)


def perform(steps, name, jobs=1, quiet=False):
    """Run the steps that are not done, up to ``jobs`` at a time.

    If a step fails, this is reported at once, and the steps that depend on it are skipped; all others still run.

    Args:
        name: name of the program, in front of error messages.

    Raises:
        CommandFailed: a step has failed; the message is a summary if several have.
        KeyboardInterrupt: the run was interrupted, and all commands have ended.
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
    """The signals that end a run; none outside the main thread, where Python cannot handle them."""
    if threading.current_thread() is threading.main_thread():
        return (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return ()


def work(step, after, runner, quiet):
    """Run a step unless it is done. The steps ``after`` it, which depend on it, must then run again too."""
    if step.is_done():
        say(f"{step.name()}: already done")
        return
    with Lock(step.lock) if step.lock else contextlib.nullcontext():
        # Before this step runs: after a kill in between, they would still count as done.
        for other in [step, *after] if step.mark else ():
            other.forget()
        step.do(runner, quiet)
