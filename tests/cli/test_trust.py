"""No command runs code from a checkpoint, unless it is told to trust the file."""

import os
import shutil

import pytest
import torch

from fairseq_posenc import cli
from tests.support.commands import one_line, with_plugin

VARIABLE = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"


class Payload:
    """Pickles as a harmless call that leaves a trace: it copies this file."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return shutil.copyfile, (__file__, self.path)


@pytest.fixture
def trace(tmp_path):
    return tmp_path / "ran"


@pytest.fixture
def payload(lm_checkpoint, trace, tmp_path):
    """A good checkpoint with a payload."""
    state = torch.load(lm_checkpoint("alibi"))
    state["extra_state"]["payload"] = Payload(trace)
    torch.save(state, tmp_path / "payload.pt")
    return tmp_path / "payload.pt"


COMMANDS = {
    "average": "average --inputs {path} --output {out}.pt",
    "draw": "draw --checkpoint {path} --output {out}",
    "extrapolate": "extrapolate {data} --path {path} --lengths 8 --protocol pieces --json {out}.json",
    "resolution": "resolution {data} --path {path} --lengths 8 --json {out}.json",
    "receptive-field": "receptive-field {data} --path {path} --lengths 8 --segments 2 --json {out}.json",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_our_commands(name, payload, trace, lm_data, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv(VARIABLE, "0")
    argv = COMMANDS[name].format(path=payload, out=tmp_path / "out", data=lm_data).split()
    assert cli.main(argv) == 2
    line = one_line(capsys.readouterr().err)
    assert "payload.pt contains an object of" in line and "if you trust the file, give --trust-checkpoint" in line
    assert not trace.exists() and os.environ[VARIABLE] == "0"
    assert not list(tmp_path.glob("out*"))
    assert not cli.main([*argv, "--trust-checkpoint"])
    assert trace.exists() and list(tmp_path.glob("out*"))


STOCK = {
    "fairseq-eval-lm": (),
    "fairseq-generate": ("--task", "language_modeling", "--max-len-b", 3),
    "fairseq-interactive": ("--task", "language_modeling", "--max-len-b", 3),
    "fairseq-validate": ("--task", "language_modeling", "--valid-subset", "test", "--batch-size", 2),
}


@pytest.mark.parametrize("command", [*STOCK, "fairseq-train"])
def test_stock_commands(command, payload, trace, lm_data):
    words = (lm_data, "--path", payload, *STOCK.get(command, ()))
    if command == "fairseq-train":
        words = (lm_data, "--task", "language_modeling", "--arch", "transformer_lm_alibi_tiny", "--max-tokens", 32)
        words += ("--train-subset", "test", "--restore-file", payload, "--no-save", "--valid-subset", "test")
    line = one_line(with_plugin(command, *words, status=2))
    assert "payload.pt contains an object of" in line and f"set {VARIABLE}=1" in line
    assert not trace.exists()


def test_the_variable_lets_a_stock_command_load_it(payload, trace, lm_data):
    out = with_plugin("fairseq-eval-lm", lm_data, "--path", payload, env={VARIABLE: "1"})
    assert "Perplexity" in out and trace.exists()
