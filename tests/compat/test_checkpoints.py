"""Checkpoints that hold fairseq's and omegaconf's own objects load; those that would run code do not."""

import enum
import operator
import os
import pathlib
import re
import typing
from fractions import Fraction

import pytest
import torch
from omegaconf import DictConfig, ListConfig, OmegaConf, nodes

from tests.support.commands import fairseq, succeeded

fairseq_meters = pytest.importorskip("fairseq.logging.meters")

from fairseq.checkpoint_utils import load_checkpoint_to_cpu  # noqa: E402
from fairseq.data import Dictionary  # noqa: E402
from fairseq.models.transformer import TransformerConfig  # noqa: E402
from fairseq.optim.composite import CompositeOptimizerConfig  # noqa: E402
from fairseq.utils import move_to_cpu  # noqa: E402


def dictionary():
    made = Dictionary(extra_special_symbols=["<mask>"])
    made.add_symbol("word", n=3)
    return made


def typed_nodes():
    """One node of every kind that omegaconf has for values."""
    return DictConfig(
        {
            "any": nodes.AnyNode(1),
            "string": nodes.StringNode("text"),
            "integer": nodes.IntegerNode(2),
            "float": nodes.FloatNode(0.5),
            "boolean": nodes.BooleanNode(True),
            "bytes": nodes.BytesNode(b"\x00\xff"),
            "path": nodes.PathNode(pathlib.Path("a/b")),
            "interpolation": "${integer}",
            "missing": "???",
            "list": ListConfig([1, [2, None]], element_type=typing.Any),
            "lists": DictConfig({"a": [0.5]}, element_type=typing.List[float]),  # noqa: UP006
            "optional": DictConfig({"a": None}, element_type=typing.Optional[int]),
            "union": DictConfig({"a": 1}, element_type=typing.Union[int, str]),
        }
    )


def average():
    meter = fairseq_meters.AverageMeter()
    meter.update(3.0, n=2)
    return meter


HARMLESS = {
    "dictionary": dictionary,
    "typed nodes": typed_nodes,
    "options of a model": TransformerConfig,
    "options with a type": lambda: OmegaConf.structured(CompositeOptimizerConfig),
    "meters": lambda: [average(), fairseq_meters.TimeMeter(), fairseq_meters.StopwatchMeter()],
    "plain types": lambda: [int, float, str, bool, bytes, list, dict, tuple, {1, 2}, frozenset({3}), pathlib.Path("a")],
}


def as_written(found):
    """What must survive saving and loading, as plain values."""
    if isinstance(found, (DictConfig, ListConfig)):
        return found._metadata, OmegaConf.to_container(found)
    if isinstance(found, list):
        return [as_written(one) for one in found]
    return vars(found) if hasattr(found, "__dict__") and not isinstance(found, type) else found


def save(found, path):
    """Write the least that fairseq reads as a checkpoint, with ``found`` in it."""
    state = {"optimizer_history": [{"lr_scheduler_state": {}}], "extra_state": {"object": found}}
    torch.save(state, path)


def load(path):
    return load_checkpoint_to_cpu(str(path))["extra_state"]["object"]


@pytest.mark.parametrize("kind", HARMLESS)
def test_own_types_load(kind, tmp_path):
    saved = HARMLESS[kind]()
    save(saved, tmp_path / "checkpoint.pt")
    loaded = load(tmp_path / "checkpoint.pt")
    assert type(loaded) is type(saved)
    assert as_written(loaded) == as_written(saved)


@pytest.fixture
def meters_of_fairseq_0_8(monkeypatch):
    """Meters pickle under the module they had up to fairseq 0.8; it is an alias in fairseq 0.12."""
    for name in ("AverageMeter", "TimeMeter", "StopwatchMeter"):
        monkeypatch.setattr(getattr(fairseq_meters, name), "__module__", "fairseq.meters")


def test_meters_of_fairseq_0_8_load_as_those_of_today(meters_of_fairseq_0_8, tmp_path, monkeypatch):
    saved = {"train_loss": average(), "wps": fairseq_meters.TimeMeter(), "wall": fairseq_meters.StopwatchMeter()}
    save(saved, tmp_path / "old.pt")
    monkeypatch.undo()
    assert b"fairseq.meters" in (tmp_path / "old.pt").read_bytes()
    loaded = load(tmp_path / "old.pt")
    assert {name: type(meter) for name, meter in loaded.items()} == {name: type(meter) for name, meter in saved.items()}
    assert loaded["train_loss"].avg == 3.0


def test_a_checkpoint_saved_again_translates(stock_data, stock_checkpoint, tmp_path):
    """fairseq's loader makes a DictConfig of ``cfg``; scripts that average or prune write it back so."""
    state = load_checkpoint_to_cpu(str(stock_checkpoint))
    assert isinstance(state["cfg"], DictConfig)
    torch.save(state, tmp_path / "again.pt")
    options = ("--beam", "1", "--max-len-b", "15", "--batch-size", "20", "--quiet")
    succeeded(fairseq("generate", stock_data, "--path", tmp_path / "again.pt", *options))


class Calls:
    """Pickles as a call of ``function``."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


class Weekday(enum.Enum):
    MONDAY = 1


#: What makes it when it is loaded: the class, but getattr in Python 3.11.0 to 3.11.3.
MAKER = Weekday.MONDAY.__reduce_ex__(2)[0]

DANGEROUS = {
    "a command": (Calls(os.system, "touch ran"), "calls posix.system, which PyTorch never allows"),
    "a program": (Calls(eval, "open('ran', 'w')"), "contains an object of builtins.eval"),
    "a new class": (Calls(type, "New", (), {}), "type() is only called for None"),
    "an item of an object": (Calls(operator.getitem, {"a": 1}, "a"), "is not a type hint"),
    "a type hint as text": (Calls(operator.getitem, typing.List, "print()"), "is not a type hint"),  # noqa: UP006
    "a foreign enumeration": (Weekday.MONDAY, f"contains an object of {MAKER.__module__}.{MAKER.__qualname__}"),
}


@pytest.mark.parametrize("kind", DANGEROUS)
def test_nothing_else_loads(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved, told = DANGEROUS[kind]
    save(saved, "checkpoint.pt")
    with pytest.raises(RuntimeError, match=re.escape(told)) as caught:
        load("checkpoint.pt")
    assert type(caught.value).one_line and "checkpoint.pt" in str(caught.value)
    assert not pathlib.Path("ran").exists()


def test_the_cure_for_foreign_types_works(stock_data, stock_checkpoint, tmp_path):
    """It is taken from the message itself."""
    state = torch.load(stock_checkpoint, weights_only=False)
    state["extra_state"]["share"] = Fraction(1, 3)
    torch.save(state, tmp_path / "foreign.pt")
    command = ("generate", stock_data, "--path", tmp_path / "foreign.pt", "--beam", "1", "--max-len-b", "5", "--quiet")
    refused = fairseq(*command)
    assert refused.returncode == 2
    assert "foreign.pt contains an object of fractions.Fraction" in refused.stderr
    (cure,) = re.findall(r"torch\.serialization\.add_safe_globals\(\[\(.*?\)\]\)", refused.stderr)
    plugin = tmp_path / "trusting"
    plugin.mkdir()
    (plugin / "__init__.py").write_text(f"import torch\nfrom fractions import Fraction\n{cure}\n")
    succeeded(fairseq(*command, "--user-dir", plugin))


def test_tensors_move_to_the_cpu_with_their_ties():
    """Names of one tensor still share it; other views of it and sparse tensors are moved on their own."""
    half = torch.arange(6, dtype=torch.bfloat16).view(2, 3)
    sparse = torch.eye(2).to_sparse()
    moved = move_to_cpu({"a": half, "b": half.detach(), "row": half[0], "turned": half.t(), "sparse": sparse})
    assert moved["a"] is moved["b"] and moved["a"].dtype == torch.float32
    assert moved["a"].equal(half.float())
    assert moved["row"].equal(half[0].float()) and moved["turned"].equal(half.t().float())
    assert moved["sparse"].is_sparse and moved["sparse"].to_dense().equal(torch.eye(2))
