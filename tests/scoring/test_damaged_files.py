"""Translations, logs, checkpoints and results that were damaged: they are read, or refused in one line."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from examples.common.training_log import training_summary
from fairseq_posenc.averaging import read_checkpoint
from fairseq_posenc.cli import main
from fairseq_posenc.scoring.systems import read_systems
from tests.support.fuzzing import damaged_bytes, damaged_json, examples, is_refused

GENERATED = "".join(
    f"S-{i}\tein Haus\nT-{i}\ta house\nH-{i}\t-0.5\ta house\nD-{i}\t-0.5\ta house\nP-{i}\t-0.1 -0.2\n" for i in (1, 0)
)
TRAIN = {"epoch": 1, "train_loss": "4.5", "train_num_updates": "8", "train_wps": "100.5", "train_train_wall": "3"}
VALID = {"epoch": 1, "valid_loss": "4.25", "valid_num_updates": "8"}
LOG = f"num. shared model params: 1,024\n{json.dumps(TRAIN)}\n{json.dumps(VALID)}\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.parametrize(
    ("name", "content", "read"),
    [("generate.log", GENERATED, lambda path: read_systems([path])), ("train.log", LOG, training_summary)],
)
@examples(100)
@given(data=st.data())
def test_text(folder, name, content, read, data):
    path = folder / name
    path.write_bytes(data.draw(damaged_bytes(content.encode())))
    is_refused(read, path, names=path)


@examples(50)
@given(data=st.data())
def test_checkpoints(folder, data):
    whole, path = folder / "whole.pt", folder / "damaged.pt"
    if not whole.exists():
        torch.save({"model": {"weight": torch.ones(2, 3)}, "args": None, "cfg": {"model": {"arch": "x"}}}, whole)
    path.write_bytes(data.draw(damaged_bytes(whole.read_bytes())))
    is_refused(read_checkpoint, path, names=path)


@examples(20)
@given(data=st.data())
def test_results_that_are_added_to(lm_data, lm_checkpoint, folder, data):
    """``extrapolate`` goes on with a file that it has written, or says that it cannot."""
    whole, damaged = folder / "whole.json", folder / "damaged.json"
    words = ["extrapolate", str(lm_data), "--path", lm_checkpoint("alibi"), "--protocol", "pieces"]
    words += ["--lengths", "16,32", "--json"]
    if not whole.exists():
        assert main([*words, str(whole)]) == 0
    damaged.write_text(json.dumps(data.draw(damaged_json(json.loads(whole.read_text())))))
    assert main([*words, str(damaged)]) in (0, 2)
