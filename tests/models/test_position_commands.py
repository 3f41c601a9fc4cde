"""--positions, --attention-pattern with sinks and --attention-scale through the stock commands."""

import re

import pytest
import torch

from tests.support.commands import PLUGIN_TRAINING, one_line, with_plugin
from tests.support.models import architecture, small_flags


def train(corpus, folder, positions, *flags, **options):
    words = [*PLUGIN_TRAINING, *small_flags("sinusoidal"), "--positions", positions, "--save-dir", folder, *flags]
    return with_plugin("fairseq-train", corpus, "--arch", architecture("sinusoidal"), *words, **options)


@pytest.mark.slow
@pytest.mark.parametrize("positions", ["continuous", "random:64"])
def test_a_resumed_training_draws_the_same(reversal_data, tmp_path, positions):
    """Stopped after an epoch, it goes on as one that was not; the checkpoint decodes, with other numbers too."""
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    train(reversal_data, whole, positions, "--max-epoch", 2)
    train(reversal_data, stopped, positions, "--max-epoch", 1)
    assert "Loaded checkpoint" in train(reversal_data, stopped, positions, "--max-epoch", 2)
    saved = [torch.load(folder / "checkpoint_last.pt", weights_only=False) for folder in (whole, stopped)]
    assert saved[0]["cfg"]["model"]["positions"].startswith(positions)
    for name, parameter in saved[0]["model"].items():
        assert torch.equal(saved[1]["model"][name], parameter), name
    words = [reversal_data, "--path", whole / "checkpoint_last.pt", "--beam", 2, "--max-len-b", 12]
    scores = {
        overrides: re.findall(r"^H-\d+\t(\S+)", with_plugin("fairseq-generate", *words, *overrides), re.M)
        for overrides in ((), ("--model-overrides", "{'positions': 'scale:4', 'attention_scale': 'yarn:4'}"))
    }
    assert {len(found) for found in scores.values()} == {20} and len(set(map(tuple, scores.values()))) == 2
    out = with_plugin("fairseq-generate", *words, "--model-overrides", "{'positions': 'sclae:4'}", status=2)
    assert "did you mean scale?" in one_line(out)
