"""The patches and their states."""

import os
import warnings
from collections.abc import Callable
from typing import NamedTuple, Optional

PATCHES = []
_STATES = {}  # (patch name, module name) -> state


class Patch(NamedTuple):
    """The fix of one fault."""

    name: str
    modules: tuple[str, ...]  # the modules to patch
    fault: str  # what users see without the patch
    since: str  # the version that introduced the fault
    needed: Callable  # needed(module) -> bool; called before the module's own code runs
    apply: Callable  # apply(module), called after the module's own code; returns False if the module is not affected
    around: Optional[Callable] = None  # a context manager that is active while the module's own code runs


def patch(name, *modules, fault, since, needed=lambda module: True, around=None):
    """Register the decorated ``apply(module)`` as the patch ``name`` of ``modules``."""

    def register(apply):
        PATCHES.append(Patch(name, modules, fault, since, needed, apply, around))
        return apply

    return register


def patches_of(module_name):
    """Return the patches of one module, in the order of their registration."""
    import fairseq_compat.patches  # noqa: F401  (fills PATCHES)

    return [patch for patch in PATCHES if module_name in patch.modules]


def is_due(patch, module):
    """Tell whether ``patch`` should be applied to ``module``; otherwise record why not."""
    skipped = os.environ.get("FAIRSEQ_COMPAT_SKIP", "").replace(" ", "").split(",")
    if patch.name in skipped:
        state = "skipped"
    else:
        try:
            state = "due" if patch.needed(module) else "not needed"
        except Exception as error:
            state = f"failed: {error!r}"
            warnings.warn(f"fairseq_compat: cannot tell whether {patch.name} is needed: {error!r}", stacklevel=2)
    _STATES[patch.name, module.__name__] = state
    return state == "due"


def apply(patch, module):
    """Apply ``patch``; if it fails, warn, but let the import continue."""
    try:
        state = "not needed" if patch.apply(module) is False else "in force"
    except Exception as error:
        state = f"failed: {error!r}"
        warnings.warn(f"fairseq_compat: {patch.name} failed on {module.__name__}: {error!r}", stacklevel=2)
    _STATES[patch.name, module.__name__] = state


def report():
    """See ``fairseq_compat.report``."""
    import fairseq_compat.patches  # noqa: F401  (fills PATCHES)

    return [
        {"name": p.name, "modules": list(p.modules), "fault": p.fault, "since": p.since, "state": _state(p)}
        for p in PATCHES
    ]


def _state(patch):
    states = [_STATES[patch.name, name] for name in patch.modules if (patch.name, name) in _STATES]
    failed = [state for state in states if state.startswith("failed")]
    for state in failed + ["in force", "skipped", "not needed"]:
        if state in states:
            return state
    return "module not imported yet"
