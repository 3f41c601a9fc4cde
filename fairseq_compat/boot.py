"""The start-up hook: a finder that ignores all imports except fairseq's.

It runs at the start of every Python process of the environment, so it imports only os and sys (both already loaded)
and takes microseconds. The patching itself is in ``fairseq_compat.loader``.
"""

import os
import sys

# hydra.conf: hydra-core < 1.2 has the same fault as fairseq.dataclass.configs.
_PACKAGES = ("fairseq", "fairseq_cli")
_MODULES = ("hydra.conf",)


class Finder:
    """Finds the modules that have patches, and returns a loader that applies the patches."""

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
    """Tell whether patches are enabled (``FAIRSEQ_COMPAT=0`` disables all of them)."""
    return os.environ.get("FAIRSEQ_COMPAT", "1") != "0"


def active():
    """Tell whether the finder is installed in this process."""
    return Finder in sys.meta_path


def install():
    """Install the finder, once. Called by the ``.pth`` / ``.start`` file and by ``import torch``."""
    if enabled() and not active():
        sys.meta_path.insert(0, Finder)
