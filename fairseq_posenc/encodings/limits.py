"""What numbers and tables are refused."""

import math
from pathlib import Path

from fairseq_posenc.errors import InputError
from fairseq_posenc.memory import installed_memory

#: Where Linux says how much memory a container may use.
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def check_number(flag: str, number: float, lowest: float, highest: float) -> None:
    """Raise InputError unless ``lowest <= number <= highest``; NaN is not."""
    if not lowest <= number <= highest:
        raise InputError(f"{flag} must be between {lowest:g} and {highest:g}, but is {number:g}")


def memory() -> float:
    """The memory of this machine or container, in bytes; infinite where the system does not say."""
    installed = installed_memory() or math.inf
    try:
        return min(installed, int(CONTAINER_LIMIT.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit
        return installed


def check_table(flags: str, *shape: int) -> None:
    """Raise InputError where a table of fp32 numbers of this shape is larger than the memory.

    PyTorch would say so in many lines, or the system end the process.

    Args:
        flags: what the user gave, such as ``--shaw-clip 16``.
    """
    needed, there = 4 * math.prod(shape), memory()
    if needed > there:
        raise InputError(
            f"{flags} needs {needed / 2**30:,.1f} GiB for one table, but the memory is {there / 2**30:,.1f} GiB; "
            "give a smaller number"
        )
