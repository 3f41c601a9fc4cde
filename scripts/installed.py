"""Checks of setup.sh in an environment that may not be able to import fairseq or this package yet.

  installed.py torch "torch==2.8.0"    is this version of PyTorch installed?
  installed.py fairseq                 is fairseq installed, with its compiled parts?

Exit status 0: yes; otherwise a line names the missing part.
"""

import importlib.util
import sys
from importlib.metadata import version
from pathlib import Path

PARTS = ("data/data_utils_fast", "data/token_block_utils_fast", "libbleu")


def torch(requirement):
    try:
        from packaging.requirements import Requirement
    except ImportError:
        from pip._vendor.packaging.requirements import Requirement
    installed = version("torch")
    if not Requirement(requirement).specifier.contains(installed, prereleases=True):
        sys.exit(f"torch is {installed}")


def fairseq():
    spec = importlib.util.find_spec("fairseq")
    if spec is None:
        sys.exit("fairseq is not installed")
    root = Path(spec.submodule_search_locations[0])
    for part in PARTS:
        if not any(file.suffix in (".so", ".pyd") for file in root.glob(part + ".*")):
            sys.exit(f"fairseq has no compiled {part}")


if __name__ == "__main__":
    {"torch": torch, "fairseq": fairseq}[sys.argv[1]](*sys.argv[2:])
