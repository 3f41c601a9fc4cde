"""The quickstart's modules are scripts beside each other, not a package: put their folder on the path."""

import sys
from pathlib import Path

import pytest

QUICKSTART = Path(__file__).resolve().parents[2] / "examples" / "quickstart"
sys.path.insert(0, str(QUICKSTART))


@pytest.fixture(scope="session")
def quickstart():
    """The folder of the quickstart's scripts."""
    return QUICKSTART


@pytest.fixture(scope="session")
def corpus():
    """A corpus of the grammar, smaller than the real one: {split: [(English, German), ...]}."""
    import grammar

    return grammar.corpus(3, {"train": 1500, "valid": 60, "test": 200})
