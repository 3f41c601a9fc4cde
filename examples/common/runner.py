"""Runs the processes of a recipe, and ends all of them when the recipe is stopped or killed."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from examples.common.files import ROOT
from examples.common.locks import Lock
from fairseq_posenc.errors import InputError

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


def program(name):
    """The path of a program: in PATH, or in the folder of this Python; "python" is this Python."""
    if name == "python":
        return sys.executable
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


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
