"""Runs Python scripts in forks of one process that has PyTorch and fairseq imported: three seconds less per command,
and one more per training.

A fork runs the script from its first line, with arguments, environment, folder and output of its own. Neither fairseq's
commands nor the plugin are imported before: they act while they are imported.
"""

import contextlib
import faulthandler
import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
from pathlib import Path

IMPORTED = [
    *("fairseq.models", "fairseq.tasks", "fairseq.trainer", "fairseq.options", "sacrebleu", "scipy.stats"),
    "torch._dynamo",  # which every optimizer of PyTorch imports
]


def execute(command, environment, folder, stdin, stdout, stderr):
    """In the fork: become the command."""
    import torch

    for stream, path, flags in ((0, stdin, os.O_RDONLY), (1, stdout, os.O_WRONLY), (2, stderr, os.O_WRONLY)):
        opened = os.open(path, flags | os.O_APPEND)
        os.dup2(opened, stream)
        os.close(opened)
    sys.stdin = os.fdopen(0, closefd=False)  # multiprocessing has given it /dev/null
    # Workers of a command start as they do in a command that was not forked from here.
    multiprocessing.set_start_method(multiprocessing.get_all_start_methods()[0], force=True)
    faulthandler.enable()
    torch.set_num_threads(1)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = command
    runpy.run_path(command[0], run_name="__main__")


def start(command, *arguments):
    """Start a Python script with the arguments of ``execute``; return its process."""
    # fairseq counts the GPUs while it is imported. Asked of the driver's library, this does not start CUDA, which could
    # not start again in a fork.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    process = context.Process(target=execute, args=(command, *arguments))
    process.start()
    return process


def run(command, environment, folder, text, limit):
    """Run a Python script in ``folder``; return its exit status, None after ``limit`` seconds, and what it has printed
    on either stream.
    """
    with contextlib.ExitStack() as opened:
        stdin, *printed = (opened.enter_context(tempfile.NamedTemporaryFile("w+", errors="replace")) for _ in range(3))
        stdin.write(text or "")
        stdin.flush()
        process = start(command, environment, folder, stdin.name, *(stream.name for stream in printed))
        process.join(limit)
        status = process.exitcode
        if status is None:
            abort(process.pid)
            process.join()
        return status, *(stream.read() for stream in printed)


def abort(pid):
    """End a process and all that it has started; they print the Python stacks of their threads."""
    for member in reversed(family(pid)):
        os.kill(member, signal.SIGABRT)


def family(pid):
    """A process and all that it has started and they have, as Linux lists them."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    started = children.read_text().split() if children.exists() else ()
    return [pid, *(member for child in started for member in family(int(child)))]
