"""Tasks whose examples have any length. Each file is a family of them."""

import difflib

from examples.length.tasks import addition, bits, copying, passkey, scan, sorting
from fairseq_posenc.errors import InputError

#: {name: Task}.
TASKS = {task.name: task for family in (copying, sorting, bits, addition, scan, passkey) for task in family.TASKS}


def find(name):
    """The task with this name. Raises InputError if there is none; the message suggests the nearest name."""
    if name not in TASKS:
        near = difflib.get_close_matches(name, TASKS, 1)
        suggestion = f"did you mean {near[0]}?" if near else f"choose from {', '.join(TASKS)}"
        raise InputError(f"task {name} is unknown; {suggestion}")
    return TASKS[name]
