"""Run one of fairseq's commands in a process of its own: what it prints, its time and its peak memory.

The process is ``python -m fairseq_posenc.analysis.commands.process MODE DEVICE TOOL ARGUMENTS``. It calls what the
script ``fairseq-TOOL`` calls; MODE "profile" also takes the time of its parts (profile.py).
"""

import importlib
import json
import subprocess
import sys
import time
from dataclasses import dataclass

import torch

from fairseq_posenc.analysis.peak_memory import peak_so_far
from fairseq_posenc.errors import InputError

#: Name of the command after "fairseq-" -> its module.
TOOLS = {"train": "fairseq_cli.train", "generate": "fairseq_cli.generate", "eval-lm": "fairseq_cli.eval_lm"}
REPORT = "fairseq_posenc report: "


class CommandFailed(InputError):
    """A command of fairseq ended with an error; the message has its last line."""


@dataclass(frozen=True)
class Finished:
    """``output``: all that the command printed; ``seconds``: of the process; ``report``: see run."""

    output: str
    seconds: float
    report: dict


def run(tool, arguments, device, profile=False):
    """Run ``fairseq-TOOL ARGUMENTS`` and return what it did, as Finished.

    ``report`` is {"peak_bytes": the peak memory of the process on a CPU, or of PyTorch's allocator on a GPU,
    "cpu_seconds": of all threads of the process}; with ``profile`` it is the result of a Profile.

    Raises:
        CommandFailed: the command ended with an error.
    """
    mode = "profile" if profile else "run"
    command = [sys.executable, "-W", "ignore", "-m", __name__, mode, device, tool, *map(str, arguments)]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    seconds = time.perf_counter() - begin
    output, found, report = done.stdout.rpartition(REPORT)
    if done.returncode < 0:
        raise CommandFailed(f"fairseq-{tool} was ended by signal {-done.returncode}; is there enough memory?")
    if done.returncode or not found:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise CommandFailed(f"fairseq-{tool} failed: {last}")
    return Finished(output + done.stderr, seconds, json.loads(report))


def main():
    mode, device, tool, *arguments = sys.argv[1:]
    sys.argv = [f"fairseq-{tool}", *arguments]
    command = importlib.import_module(TOOLS[tool]).cli_main
    if mode == "profile":
        from fairseq_posenc.analysis.commands.profile import Profile

        with Profile(tool, device) as profile:
            command()
        report = profile.result()
    else:
        # fairseq resets the peak at every update; without the reset it covers the whole run.
        torch.cuda.reset_peak_memory_stats = lambda *args: None
        command()
        report = {"peak_bytes": peak_so_far(device), "cpu_seconds": time.process_time()}
    print(REPORT + json.dumps(report))


if __name__ == "__main__":
    main()
