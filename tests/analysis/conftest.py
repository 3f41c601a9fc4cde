"""The text and the small models of the extrapolation tests."""

from tests.extrapolation.conftest import checkpoint, data  # noqa: F401
