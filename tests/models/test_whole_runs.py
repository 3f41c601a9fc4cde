"""Whole runs of fairseq-train that must come to the same, and those of low precision, for both families of models.

The runs are inside the processes of the tests; ``tests/models/test_commands.py`` has the commands themselves.
"""

import pytest
import torch
from torch.multiprocessing import spawn

from fairseq_posenc.encodings import encoding_names
from tests.support.training import (
    FAMILIES,
    largest_difference,
    saved,
    train,
    train_in_turn,
    updates,
    without_dropout,
    write_data,
)

#: Runs of the fast suite: what has dropout of its own, tables, a rotation, gates, a bias that layers share.
FAST = {
    "resumed": [("translation", "adaptive-t5"), ("language model", "xpos")],
    "accumulated": [("translation", "shaw"), ("language model", "forgetting")],
    "precision": [("translation", "posnet-attn"), ("language model", "t5")],
}


def runs(kind):
    """Parameters (family, encoding): all, most of them slow."""
    return [
        pytest.param(family, name, marks=() if (family, name) in FAST[kind] else pytest.mark.slow)
        for family in FAMILIES
        for name in encoding_names()
    ]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return {family: write_data(family, tmp_path_factory.mktemp("data")) for family in FAMILIES}


@pytest.mark.parametrize(("family", "name"), runs("resumed"))
def test_resumed_equals_uninterrupted(family, name, data, tmp_path):
    """In the middle of an epoch, with dropout and Adam: to the last bit."""
    flags = ("--batch-size", 4, "--optimizer", "adam", "--lr", 0.01, "--dropout", 0.1)
    whole = train(data[family], family, name, tmp_path / "whole", *flags, "--max-update", 6)
    first = train(data[family], family, name, tmp_path / "parts", *flags, "--max-update", 3)
    both = train(data[family], family, name, tmp_path / "parts", *flags, "--max-update", 6)
    assert updates(first) == 3 and updates(whole) == updates(both) == 6
    assert largest_difference(whole, first) > 1e-3
    assert largest_difference(whole, both) == 0


@pytest.mark.parametrize(("family", "name"), runs("accumulated"))
def test_four_small_batches_equal_a_large_one(family, name, data, tmp_path):
    flags = ("--optimizer", "sgd", "--lr", 1, "--max-update", 3, *without_dropout(name))
    large = train(data[family], family, name, tmp_path / "large", *flags, "--batch-size", 16)
    small = train(data[family], family, name, tmp_path / "small", *flags, "--batch-size", 4, "--update-freq", 4)
    other = train(data[family], family, name, tmp_path / "other", *flags, "--batch-size", 4)
    assert updates(large) == updates(small) == 3
    assert largest_difference(large, small) < 1e-5 < 1e-3 < largest_difference(large, other)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_two_processes_equal_one(family, data, tmp_path):
    """Two batches per update: one per process, or both in one process."""
    flags = ("--optimizer", "sgd", "--lr", 0.1, "--max-update", 3, "--batch-size", 4)
    every = {name: (*flags, *without_dropout(name)) for name in encoding_names()}
    together = [(name, tmp_path / "two" / name, *every[name]) for name in every]
    spawn(train_in_turn, (tmp_path / "rendezvous", data[family], family, together), nprocs=2)
    for name in every:
        one = train(data[family], family, name, tmp_path / "one" / name, *every[name], "--update-freq", 2)
        half = train(data[family], family, name, tmp_path / "half" / name, *every[name])
        two = saved(tmp_path / "two" / name)
        assert updates(two) == updates(one) == 3
        assert largest_difference(two, one) < 1e-5 < 1e-3 < largest_difference(two, half), name


@pytest.mark.parametrize(("family", "name"), runs("precision"))
def test_low_precision(family, name, data, tmp_path):
    """As on a CPU, where --amp has no effect in fairseq 0.12.2: it is of CUDA alone (`fairseq-posenc gpu-check`)."""
    flags = ("--optimizer", "adam", "--lr", 0.01, "--max-update", 6, "--batch-size", 16, *without_dropout(name))
    exact = train(data[family], family, name, tmp_path / "fp32", *flags)
    amp = train(data[family], family, name, tmp_path / "amp", *flags, "--amp")
    assert largest_difference(exact, amp) == 0
    for precision, dtype in (("--fp16", torch.float16), ("--bf16", torch.bfloat16)):
        low = train(data[family], family, name, tmp_path / precision, *flags, precision, "--fp16-init-scale", 4)
        assert updates(low) == 6
        weights = [p for key, p in low["model"].items() if key.endswith("proj.weight")]
        assert weights and all(torch.equal(p, p.to(dtype).float()) for p in weights)
        losses = [state["extra_state"]["val_loss"] for state in (exact, low)]
        assert losses[1] == pytest.approx(losses[0], rel=0.02)
