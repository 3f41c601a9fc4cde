"""Peak memory, measured in a separate process."""

import multiprocessing
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch


def in_own_process(function, *arguments):
    """Call ``function(*arguments)`` in a fresh process and return its result."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def peak_of_process():
    """The peak memory of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # On Linux, ru_maxrss would start with the peak of the parent process.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return 1024 * int(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def peak_so_far(device):
    """The peak memory so far, in bytes: of this process on a CPU, of PyTorch's allocator on a GPU."""
    return torch.cuda.max_memory_allocated() if device == "cuda" else peak_of_process()


def peak_above(device, run):
    """The peak of ``run()`` above the memory allocated before it (on a CPU: above the earlier peak), in bytes."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated() if device == "cuda" else peak_of_process()
    run()
    return peak_so_far(device) - before
