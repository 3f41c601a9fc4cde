"""Pieces and sliding windows give what fairseq-eval-lm gives on the same setting."""

import json
import math
import re

import pytest

from fairseq_posenc.cli import main
from tests.support.commands import with_plugin


def eval_lm(data, path, *words):
    """Nats a token by the stock command."""
    words = ["--path", path, "--gen-subset", "test", *words]
    out = with_plugin("fairseq-eval-lm", data, *words)
    assert "Evaluated 192 tokens" in out
    return float(re.search(r"Loss \(base 2\): ([\d.]+)", out).group(1)) * math.log(2)


def extrapolate(folder, data, path, *words):
    """{(pattern, length): nats a token}."""
    out = folder / "out.json"
    words = [str(data), "--path", path, "--json", str(out), *words]
    assert main(["extrapolate", *words]) == 0
    record = json.loads(out.read_text())
    assert {cell["tokens"] for cell in record["cells"]} == {192}
    return {(cell["pattern"], cell["length"]): cell["loss"] for cell in record["cells"]}


def close(loss):
    # In base 2, which eval-lm rounds to 4 digits.
    return pytest.approx(loss, abs=1e-4 * math.log(2))


def test_pieces_under_patterns(lm_data, lm_checkpoint, tmp_path):
    path = lm_checkpoint("xpos")
    words = ["--protocol", "pieces", "--lengths", "16,48,192", "--patterns", "full,blockwise:16,window:5"]
    losses = extrapolate(tmp_path, lm_data, path, *words)
    assert losses["full", 16] == close(eval_lm(lm_data, path, "--tokens-per-sample", 16))
    overrides = {"attention_pattern": "blockwise:16"}
    words = ["--tokens-per-sample", 192, "--model-overrides", repr(overrides)]
    assert losses["blockwise:16", 192] == close(eval_lm(lm_data, path, *words))
    # All cells are different things.
    assert len({round(loss, 4) for (pattern, length), loss in losses.items() if length > 16}) == 6


@pytest.mark.parametrize(("encoding", "stride"), [("learned", 1), ("alibi", 12)])
def test_sliding(encoding, stride, lm_data, lm_checkpoint, tmp_path):
    """The last step of stride 12 is a whole one, but 16 is no multiple."""
    path = lm_checkpoint(encoding)
    words = ["--protocol", "sliding", "--stride", str(stride), "--lengths", "16"]
    losses = extrapolate(tmp_path, lm_data, path, *words)
    words = ["--tokens-per-sample", 16, "--context-window", 16 - stride, "--batch-size", 4]
    assert losses["full", 16] == close(eval_lm(lm_data, path, *words))
