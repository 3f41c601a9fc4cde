"""The fused Adam is fairseq's: updates, states, checkpoints in both directions."""

import subprocess
import sys

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.optim.adam import Adam
from torch import nn

from fairseq_posenc.optim.fused_adam import FusedAdam
from tests.support.commands import PLUGIN_TRAINING, one_line, with_plugin
from tests.support.models import architecture, small_flags

OPTIONS = {"lr": 1e-2, "betas": (0.9, 0.98), "eps": 1e-6, "weight_decay": 0.1}


def pair(dtype):
    torch.manual_seed(0)
    theirs = [nn.Parameter(torch.randn(shape).to(dtype)) for shape in ((5, 7), (3,), (40, 10))]
    ours = [nn.Parameter(p.detach().clone()) for p in theirs]
    return (Adam(theirs, **OPTIONS), theirs), (FusedAdam(ours, **OPTIONS), ours)


def steps(optimizers, numbers):
    """The same random gradients, some of them tiny, for both."""
    for number in numbers:
        generator = torch.Generator().manual_seed(number)
        for index, both in enumerate(zip(*(parameters for _, parameters in optimizers))):
            gradient = torch.randn(both[0].shape, generator=generator) * 10.0 ** -(number % 5)
            for p in both:
                # A parameter may have no gradient now and then.
                p.grad = None if (number, index) == (3, 1) else gradient.to(p.dtype)
        for optimizer, _ in optimizers:
            optimizer.step()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_updates_are_those_of_fairseq(dtype):
    optimizers = pair(dtype)
    steps(optimizers, range(60))
    tolerance = 2e-6 if dtype == torch.float32 else torch.finfo(dtype).eps
    for theirs, ours in zip(optimizers[0][1], optimizers[1][1]):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_states_interchange_in_both_directions(dtype):
    """PyTorch casts the moments that it loads to the dtype of the parameters; fp32 they are again from then on."""
    optimizers = pair(dtype)
    steps(optimizers, range(5))
    states = [optimizer.state_dict() for optimizer, _ in optimizers]
    assert states[0]["param_groups"] == states[1]["param_groups"]
    assert states[0]["state"][1]["step"] == states[1]["state"][1]["step"] == 4
    for (optimizer, _), state in zip(optimizers, reversed(states)):
        optimizer.load_state_dict(state)
    steps(optimizers, range(5, 20))
    tolerance = 2e-6 if dtype == torch.float32 else torch.finfo(dtype).eps
    for theirs, ours in zip(optimizers[0][1], optimizers[1][1]):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)
        moments = optimizers[1][0].state[ours]
        assert moments["exp_avg"].dtype == moments["exp_avg_sq"].dtype == torch.float32


def train(data, folder, updates, *words):
    words = (*PLUGIN_TRAINING, *small_flags("learned"), "--dropout", "0", "--clip-norm", "0.5", *words)
    command = ("fairseq-train", data, "--arch", architecture("learned"), *words)
    return with_plugin(*command, "--save-dir", folder, "--max-update", updates)


@pytest.mark.parametrize("precision", [(), ("--memory-efficient-fp16",)], ids=["fp32", "fp16"])
def test_a_stock_run_goes_on_and_comes_back(precision, reversal_data, tmp_path):
    train(reversal_data, tmp_path / "stock", 12, *precision)
    for updates, words in ((4, ()), (8, ("--optimizer", "fused_adam")), (12, ())):
        log = train(reversal_data, tmp_path / "mixed", updates, *precision, *words)
        assert ("Loaded checkpoint" in log) == (updates > 4)
    files = [str(tmp_path / name / "checkpoint_last.pt") for name in ("stock", "mixed")]
    stock, mixed = (checkpoint_utils.load_checkpoint_to_cpu(file)["model"] for file in files)
    for name, expected in stock.items():
        if name.endswith("k_proj.bias"):
            continue  # softmax gives it no gradient but rounding errors, which Adam makes as large as any other
        # An update moves a number by up to the learning rate, 3e-3.
        tolerance = 1e-4 if not precision else 2e-3
        torch.testing.assert_close(mixed[name], expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("flag", ["--use-old-adam", "--fp16-adam-stats"])
def test_flags_without_a_fused_form_are_refused_in_one_line(flag, reversal_data, tmp_path):
    words = ("--optimizer", "fused_adam", flag, "--save-dir", tmp_path / "run", "--max-update", 1)
    command = ("fairseq-train", reversal_data, "--arch", architecture("none"), *PLUGIN_TRAINING, *small_flags("none"))
    line = one_line(with_plugin(*command, *words, status=2))
    assert f"{flag} does not go with --optimizer fused_adam; give adam" in line


def test_a_training_does_not_load_the_compiler():
    """It takes two seconds. In a process of its own, as other tests load it."""
    code = """
import sys, torch
from fairseq_posenc.optim.fused_adam import FusedAdam
weight = torch.nn.Parameter(torch.ones(3))
optimizer = FusedAdam([weight], lr=1.0)
weight.sum().backward()
optimizer.step()
optimizer.zero_grad()
assert optimizer.state_dict()["state"][0]["step"] == 1 and weight.lt(0.1).all() and weight.grad is None
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
