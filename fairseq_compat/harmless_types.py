"""The types other than tensors in fairseq checkpoints, for ``torch.serialization.add_safe_globals``.

PyTorch calls the types that a checkpoint names, with arguments from the checkpoint. Therefore these are types whose
constructor and ``__setstate__`` only store their arguments. If pickle needs a function that can do more, a substitute
with the same name does only what is needed.
"""

import pickle


def plain_types():
    """List option namespaces, NumPy arrays and numbers, paths, and the builtin types that configurations refer to."""
    import argparse
    import collections
    import pathlib

    import numpy as np

    # NumPy 1.26 has a stub of the name that NumPy 2 uses.
    multiarray = (np.core if np.__version__.startswith("1.") else np._core).multiarray
    dtypes = {type(np.dtype(code)) for code in "?bBhHiIlLqQefd"}
    # Files written under NumPy 1 and 2 name the same two functions differently.
    rebuilders = [
        (function, f"{package}.multiarray.{function.__name__}")
        for function in (multiarray._reconstruct, multiarray.scalar)
        for package in ("numpy.core", "numpy._core")
    ]
    # Python 3.13 has moved these classes. Path classes of another operating system cannot be instantiated.
    paths = [
        (path, f"{module}.{path.__name__}")
        for path in (pathlib.Path, type(pathlib.Path()))
        for module in ("pathlib", "pathlib._local")
    ]
    builtin = [bool, int, float, str, bytes, list, tuple, dict, frozenset]
    return [argparse.Namespace, collections.defaultdict, np.ndarray, np.dtype, *dtypes, *rebuilders, *paths, *builtin]


def omegaconf_types():
    """List configurations and their nodes. Interpolations in them are not resolved while loading."""
    import typing

    from omegaconf import DictConfig, ListConfig, base, nodes

    values = [kind for kind in vars(nodes).values() if isinstance(kind, type) and issubclass(kind, nodes.ValueNode)]
    union = [base.UnionNode] if hasattr(base, "UnionNode") else []  # omegaconf 2.3
    hints = [(getattr(typing, name), f"typing.{name}") for name in _HINTS]
    functions = [
        *((_type_hint, f"{module}.getitem") for module in ("operator", "_operator")),
        (_type_of_none, "builtins.type"),
    ]
    return [DictConfig, ListConfig, base.Metadata, base.ContainerMetadata, *values, *union, *hints, *functions]


def fairseq_types():
    """List the options of all parts of fairseq imported so far, dictionaries, and meters with their former names."""
    from fairseq.data import Dictionary
    from fairseq.dataclass import FairseqDataclass
    from fairseq.logging import meters

    # fairseq 0.8 pickled these three, from the module fairseq.meters.
    kept = (meters.AverageMeter, meters.TimeMeter, meters.StopwatchMeter)
    old = [(meter, f"fairseq.meters.{meter.__name__}") for meter in kept]
    own = [kind for kind in _subclasses(FairseqDataclass) if kind.__module__.partition(".")[0] == "fairseq"]
    return [Dictionary, *kept, *old, *own]


def _subclasses(kind):
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


_HINTS = ("Any", "List", "Dict", "Tuple", "Optional", "Union")


def _type_hint(generic, arguments):
    """Replacement of ``operator.getitem`` for type hints such as List[int] only."""
    import typing

    parameters = arguments if isinstance(arguments, tuple) else (arguments,)
    # A string would become a forward reference, which typing evaluates later.
    if any(generic is getattr(typing, name) for name in _HINTS) and not any(isinstance(p, str) for p in parameters):
        return generic[arguments]
    raise pickle.UnpicklingError(f"{generic}[{arguments!r}] is not a type hint")


def _type_of_none(*arguments):
    """Replacement of ``type``, which could create new classes: only the type of None."""
    if arguments == (None,):
        return type(None)
    raise pickle.UnpicklingError("type() is only called for None")
