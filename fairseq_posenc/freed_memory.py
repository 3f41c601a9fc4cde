"""Memory that a process on a CPU has freed, and what glibc does with it."""

import ctypes
import os

import torch

#: Numbers of parameters in glibc's malloc.h.
TRIM_THRESHOLD, MMAP_MAX = -1, -4
#: More free bytes than these at the end of the heap go back to the system.
KEPT = 2**30


def keep_freed_memory() -> None:
    """Make this process keep the memory of large tensors for the next ones.

    Otherwise glibc returns it to the system, which gives it out again page by page, filled with zeros, in every update.
    Nothing happens where there is a GPU, whose tensors are not in this memory; where the user has set glibc's allocator
    by environment variables; or with another C library.
    """
    if torch.cuda.is_available():
        return
    names = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_")
    if any(name in os.environ for name in names) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(MMAP_MAX, 0)  # before glibc 2.35, a threshold for mmap cannot be above 32 MiB
        mallopt(TRIM_THRESHOLD, KEPT)
