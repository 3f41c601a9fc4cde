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
    """The corpus that the quickstart trains on: {split: [(English, German), ...]}."""
    import grammar

    return grammar.corpus(1)
