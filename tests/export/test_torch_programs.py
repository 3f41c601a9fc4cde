"""Programs of torch.export: the same logits as the model, from the files alone."""

import pytest
import torch

from tests.support.commands import BIN, one_line, output
from tests.support.encodings import one_of_each_kind
from tests.support.export import load, write_model
from tests.support.models import batch, text

NAMES = [name for parameter in one_of_each_kind() for name in parameter.values]
KINDS = [pytest.param(name, marks=() if name == "xpos" else pytest.mark.slow) for name in NAMES]


def export(checkpoint, folder, *words, status=0):
    """In a process of its own, which has loaded nothing else; return what it prints."""
    command = [BIN / "fairseq-posenc", "export", checkpoint, "--to", "torch-export", "--output", folder, "--length", 9]
    return output(*command, *words, status=status)


def read(path):
    return torch.export.load(path).module()


@pytest.mark.parametrize("encoding", KINDS)
def test_translation(encoding, reversal_data, tmp_path):
    checkpoint = write_model(tmp_path / "model.pt", reversal_data, encoding)
    export(checkpoint, tmp_path / "out")
    assert (tmp_path / "out" / "dict.src.txt").is_file() and (tmp_path / "out" / "dict.tgt.txt").is_file()
    sample = batch(lengths=(9, 2, 4), target_lengths=(3, 9, 1), words=12)
    encoder, decoder = (read(tmp_path / "out" / f"{name}.pt2") for name in ("encoder", "decoder"))
    source, target = sample["src_tokens"], sample["prev_output_tokens"]
    logits = decoder(target, encoder(source), source)
    model, _ = load(checkpoint)
    real = target != 1
    torch.testing.assert_close(logits[real], model(**sample)[0][real], atol=1e-4, rtol=0)


def test_language_model(lm_data, tmp_path):
    words = ("--attention-pattern", "window:3", "--tokens-per-sample", 16)
    checkpoint = write_model(tmp_path / "model.pt", lm_data, "xpos", *words, language_model=True)
    export(checkpoint, tmp_path / "out")
    assert (tmp_path / "out" / "dict.txt").is_file()
    tokens = text(lengths=(9, 4, 1), words=12)
    real = tokens != 1
    logits = read(tmp_path / "out" / "model.pt2")(tokens)[real]
    torch.testing.assert_close(logits, load(checkpoint)[0](tokens)[0][real], atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("learned", "--max-source-positions", 8), "--length 9 must be from 2 to 8"),
        (("none", "--positions", "random:2000"), "--positions random:2000 draws numbers anew"),
    ],
)
def test_what_is_refused(flags, message, reversal_data, tmp_path):
    checkpoint = write_model(tmp_path / "model.pt", reversal_data, *flags)
    assert message in one_line(export(checkpoint, tmp_path / "out", status=2))
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


def test_a_checkpoint_of_stock_fairseq(stock_checkpoint, tmp_path):
    """As a model of ours, which has the same outputs."""
    overrides = ("--model-overrides", repr({"arch": "transformer_sinusoidal_iwslt_de_en"}))
    assert "transformer_sinusoidal_wmt_en_de" in one_line(export(stock_checkpoint, tmp_path / "out", status=2))
    export(stock_checkpoint, tmp_path / "out", *overrides)
    sample = batch(lengths=(9, 2), target_lengths=(3, 9), words=12)
    encoder, decoder = (read(tmp_path / "out" / f"{name}.pt2") for name in ("encoder", "decoder"))
    source, target = sample["src_tokens"], sample["prev_output_tokens"]
    logits = decoder(target, encoder(source), source)
    real = target != 1
    torch.testing.assert_close(logits[real], load(stock_checkpoint)[0](**sample)[0][real], atol=1e-4, rtol=0)
