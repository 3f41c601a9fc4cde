"""The start-up hook: a finder that ignores every import but fairseq's.

It runs at the start of every Python process of the environment, so it imports nothing but os and sys (both loaded
already) and costs microseconds. What it does for fairseq lives in ``fairseq_compat.loader``.
"""

import os
import sys

# hydra.conf: hydra-core < 1.2 has the same fault as fairseq.dataclass.configs.
_PACKAGES = ("fairseq", "fairseq_cli")
_MODULES = ("hydra.conf",)


class Finder:
    """Finds the modules that have patches, and hands out a loader that applies them."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        """Return a patching spec for a module that has patches; None for every other module."""
        if name.partition(".")[0] not in _PACKAGES and name not in _MODULES:
            return None
        try:
            from fairseq_compat import loader

            return loader.find_spec(cls, name, path, target)
        except Exception as error:  # a fault of ours must never stop an import
            import warnings

            warnings.warn(f"fairseq_compat: no patches for {name}: {error!r}", stacklevel=2)
            return None


def enabled():
    """Tell whether the environment allows patches (``FAIRSEQ_COMPAT=0`` forbids them all)."""
    return os.environ.get("FAIRSEQ_COMPAT", "1") != "0"


def active():
    """Tell whether the finder is installed in this process."""
    return Finder in sys.meta_path


def install():
    """Install the finder, once. Called by the ``.pth`` / ``.start`` file and by ``import torch``."""
    if enabled() and not active():
        sys.meta_path.insert(0, Finder)
