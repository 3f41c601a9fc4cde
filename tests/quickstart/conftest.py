"""What the tests of the quickstart and its grammar share."""

import pytest

from examples.common.grammar import corpus as grammar


@pytest.fixture(scope="session")
def corpus():
    """The corpus that the quickstart trains on: {split: [(English, German), ...]}."""
    return grammar.corpus(1)
