"""A text of 192 tokens and checkpoints of small models."""

import pytest

from tests.extrapolation.models import write_checkpoint, write_text


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("data"), tokens=192)


@pytest.fixture(scope="session")
def checkpoint(data, tmp_path_factory):
    """Return a function: encoding, flags, seed -> the path of a checkpoint, written once."""
    folder, written = tmp_path_factory.mktemp("checkpoints"), {}

    def path_of(encoding, *flags, seed=1, **options):
        key = (encoding, flags, seed, *options.items())
        if key not in written:
            path = folder / f"{encoding}-{len(written)}" / "checkpoint_best.pt"
            written[key] = write_checkpoint(path, data, encoding, *flags, seed=seed, **options)
        return written[key]

    return path_of
