"""Configuration objects as defaults of dataclass fields.

Python 3.11 treats any unhashable default as mutable, and a dataclass with ``eq`` is unhashable. fairseq's defaults are
never changed in place, so hashing them by identity is safe. (``default_factory`` does not work, because hydra reads
``field.default``.)
"""

import contextlib
import dataclasses
import functools
import sys

from fairseq_compat.registry import patch


@contextlib.contextmanager
def _dataclasses_hash_by_identity():
    stock = dataclasses.dataclass

    @functools.wraps(stock)
    def dataclass(cls=None, **options):
        if cls is None:
            return lambda later: dataclass(later, **options)
        made = stock(cls, **options)
        if made.__hash__ is None:
            made.__hash__ = object.__hash__
        return made

    dataclasses.dataclass = dataclass
    try:
        yield
    finally:
        dataclasses.dataclass = stock


@patch(
    "hashable_config_defaults",
    "fairseq.dataclass.configs",
    fault="import fairseq: ValueError: mutable default ... is not allowed: use default_factory",
    since="Python 3.11",
    needed=lambda module: sys.version_info >= (3, 11),
    around=_dataclasses_hash_by_identity,
)
def hashable_config_defaults(module):
    """Give every later subclass of FairseqDataclass (models, tasks, plugins) its hash before @dataclass removes it."""
    base = module.FairseqDataclass

    def __init_subclass__(cls, **options):
        super(base, cls).__init_subclass__(**options)
        if "__hash__" not in cls.__dict__:
            cls.__hash__ = object.__hash__

    base.__init_subclass__ = classmethod(__init_subclass__)


def _hydra_is_old(module):
    from importlib.metadata import version

    return sys.version_info >= (3, 11) and tuple(map(int, version("hydra-core").split(".")[:2])) < (1, 2)


@patch(
    "hashable_hydra_defaults",
    "hydra.conf",
    fault="import fairseq with hydra-core 1.0 or 1.1: ValueError: mutable default ... is not allowed",
    since="Python 3.11",
    needed=_hydra_is_old,
    around=_dataclasses_hash_by_identity,
)
def hashable_hydra_defaults(module):
    """Do nothing: the work is done while the module defines its dataclasses."""
