"""Finished steps are skipped, half-finished ones never count: folders with a stamp, and commands with a log."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

STAMP = "finished.json"
SHOWN_LINES = 20


class CommandFailed(RuntimeError):
    """A command of the pipeline ended with a failure; the message holds the end of its log and where the log is."""


def finished(folder, configuration):
    """The stamp of a folder that was finished with this configuration, else None."""
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return stamp if stamp.get("configuration") == configuration else None


def stamp(folder, configuration, seconds, **facts):
    """Mark a folder as finished; return the stamp."""
    record = {"configuration": configuration, "seconds": round(seconds, 1), **facts}
    partial = folder / (STAMP + ".partial")
    partial.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(folder / STAMP)
    return record


def build(folder, title, configuration, make):
    """Have ``make(partial folder)`` fill ``folder`` unless it is finished; return its stamp.

    ``make`` works in a folder of another name, which takes its place only when all is done; what it returns (a
    dict or None) is kept in the stamp.
    """
    record = finished(folder, configuration)
    if record:
        print(f"{title}: already done", flush=True)
        return record
    print(f"{title} ...", flush=True)
    started = time.monotonic()
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    facts = make(partial) or {}
    record = stamp(partial, configuration, time.monotonic() - started, **facts)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    print(f"{title}: {record['seconds']:.0f} s", flush=True)
    return record


def start(command, log, folder=None, threads=1, append=False):
    """Start a command in a folder, its output in the file ``log``; ``command[0]`` is a script beside this Python's."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"}
    program = Path(sys.executable).parent / command[0]
    with open(log, "ab" if append else "wb") as output:
        arguments = [str(program), *command[1:]]
        return subprocess.Popen(arguments, cwd=folder, stdout=output, stderr=subprocess.STDOUT, env=environment)


def run(command, log, folder=None, threads=1):
    """Run a command to its end; raise CommandFailed with the end of its log where it fails."""
    process = start(command, log, folder, threads)
    try:
        process.wait()
    finally:
        stop([process])
    check(command, process, log)


def check(command, process, log):
    """Raise CommandFailed unless the process ended well."""
    if process.returncode:
        lines = Path(log).read_text(encoding="utf-8", errors="replace").splitlines()[-SHOWN_LINES:]
        lines.append(f"{command[0]} failed with status {process.returncode}; its log is {log}")
        raise CommandFailed("\n".join(lines))


def stop(processes):
    """End the processes that still run."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
            process.wait()
