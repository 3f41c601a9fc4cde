"""Checkpoints of version 0.1 still load: ``earlier/`` holds one per family, and what it generated then.

They were trained for 30 updates on the texts of the fixtures here. In version 0.1 the settings of a model were a
Namespace; before fairseq 0.10 all settings were one, under ``args``.
"""

import re
from argparse import Namespace
from pathlib import Path

import pytest
import torch
from fairseq.checkpoint_utils import load_model_ensemble_and_task

from tests.support.commands import with_plugin
from tests.support.language_models import write_text

EARLIER = Path(__file__).parent / "earlier"
GENERATION = {
    "translation": ("--beam", 4, "--max-len-b", 12),
    "language_model": ("--task", "language_modeling", "--tokens-per-sample", 8, "--beam", 3, "--max-len-b", 12),
}


@pytest.fixture(scope="module")
def texts(reversal_data, tmp_path_factory):
    text = write_text(tmp_path_factory.mktemp("text") / "bin", 192, ("train", "valid", "test"))
    return {"translation": reversal_data, "language_model": text}


def hypotheses(text):
    return {i: (float(score), words) for i, score, words in re.findall(r"^H-(\d+)\t(\S+)\t(.*)$", text, re.M)}


def as_args(path, target):
    """Write the checkpoint in the format before fairseq 0.10."""
    state = torch.load(path, weights_only=False)
    assert isinstance(state["cfg"]["model"], Namespace)
    torch.save({**state, "args": state["cfg"]["model"], "cfg": None}, target)
    return target


@pytest.mark.parametrize("form", ["cfg", "args"])
@pytest.mark.parametrize("family", GENERATION)
def test_they_generate_what_they_did(family, form, texts, tmp_path):
    path = EARLIER / f"{family}.pt"
    if form == "args":
        path = as_args(path, tmp_path / "args.pt")
    found = hypotheses(with_plugin("fairseq-generate", texts[family], "--path", path, *GENERATION[family]))
    expected = hypotheses((EARLIER / f"{family}.tsv").read_text())
    assert {i: words for i, (_, words) in found.items()} == {i: words for i, (_, words) in expected.items()}
    for i, (score, _) in expected.items():
        assert found[i][0] == pytest.approx(score, abs=1e-4)


def test_training_goes_on_from_them(texts, tmp_path):
    (tmp_path / "checkpoint_last.pt").write_bytes((EARLIER / "translation.pt").read_bytes())
    sides = [word for side in ("encoder", "decoder") for word in sizes(side)]
    arch = ("--arch", "transformer_posnet_embed_iwslt_de_en", "--decoder-position-encoding", "rope")
    options = ("--posnet-max-positions", 16, "--posnet-dim", 4, "--share-all-embeddings", "--dropout", 0)
    training = ("--optimizer", "adam", "--lr", 0.01, "--max-tokens", 400, "--max-update", 31)
    folder = ("--save-dir", tmp_path, "--no-epoch-checkpoints")
    log = with_plugin("fairseq-train", texts["translation"], *arch, *sides, *options, *training, *folder)
    assert "@ 30 updates" in log and "num_updates 31" in log
    models, cfg, _ = load_model_ensemble_and_task([str(tmp_path / "checkpoint_last.pt")])
    assert not isinstance(cfg.model, Namespace) and cfg.model.decoder_position_encoding == "rope"


def sizes(side):
    return (
        f"--{side}-layers",
        1,
        f"--{side}-embed-dim",
        8,
        f"--{side}-ffn-embed-dim",
        8,
        f"--{side}-attention-heads",
        2,
    )
