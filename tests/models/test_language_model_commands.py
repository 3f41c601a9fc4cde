"""Language models through the stock commands, each in a process of its own."""

import math
import random
import re

import pytest
import torch
from fairseq import checkpoint_utils

from tests.support.commands import BIN, one_line, output, with_plugin
from tests.support.models import lm_architecture, small_lm_flags

TRAINING = (
    *("--optimizer", "adam", "--lr", "0.02", "--criterion", "cross_entropy", "--tokens-per-sample", "16"),
    *("--batch-size", "4", "--max-update", "12", "--no-progress-bar", "--no-epoch-checkpoints", "--seed", "1"),
)


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """Binarised text of 400 / 150 words out of 12, in lines of 3 to 9."""
    folder = tmp_path_factory.mktemp("text")
    random.seed(1)
    for split, lines in (("train", 60), ("valid", 20)):
        sentences = [" ".join(f"w{random.randrange(12)}" for _ in range(random.randint(3, 9))) for _ in range(lines)]
        (folder / split).write_text("".join(line + "\n" for line in sentences))
    splits = [word for split in ("train", "valid") for word in (f"--{split}pref", folder / split)]
    output(BIN / "fairseq-preprocess", "--only-source", *splits, "--destdir", folder / "bin")
    return folder / "bin"


def train(text, folder, arch, *flags):
    log = with_plugin("fairseq-train", text, "--arch", arch, *TRAINING, *flags, "--save-dir", folder)
    assert "num_updates 12" in log
    return folder / "checkpoint_last.pt"


@pytest.fixture(scope="session")
def xpos(text, tmp_path_factory):
    """A checkpoint without a limit."""
    return train(text, tmp_path_factory.mktemp("xpos"), lm_architecture("xpos"), *small_lm_flags("xpos"))


@pytest.fixture(scope="session")
def learned(text, tmp_path_factory):
    """A checkpoint of 16 positions."""
    return train(text, tmp_path_factory.mktemp("learned"), lm_architecture("learned"), *small_lm_flags("learned"))


def evaluate(text, checkpoint, *words, **options):
    return with_plugin("fairseq-eval-lm", text, "--path", checkpoint, "--gen-subset", "valid", *words, **options)


def loss_of(out):
    """Bits a token that fairseq-eval-lm printed."""
    return float(re.search(r"Loss \(base 2\): ([\d.]+)", out).group(1))


def loss_of_pieces(checkpoint, text, length, **overrides):
    """The same, one piece of the text after the other through the model."""
    models, _, task = checkpoint_utils.load_model_ensemble_and_task([str(checkpoint)], {"data": str(text), **overrides})
    task.args.tokens_per_sample = length
    task.load_dataset("valid")
    model, data = models[0].eval(), task.dataset("valid")
    total = 0
    with torch.no_grad():
        for i in range(len(data)):
            log_probs = model.get_normalized_probs(model(data[i]["source"][None]), log_probs=True)
            total -= log_probs[0].gather(1, data[i]["target"][:, None]).sum().item()
    return total / sum(data.sizes) / math.log(2)


def test_longer_samples_than_in_training(xpos, text):
    """No override is needed, where the encoding has no limit; some choose the attention pattern and frequencies."""
    full = loss_of(evaluate(text, xpos, "--tokens-per-sample", 64))
    assert full == pytest.approx(loss_of_pieces(xpos, text, 64), abs=2e-4)
    overrides = ["--model-overrides", "{'attention_pattern': 'blockwise:2'}"]
    blockwise = loss_of(evaluate(text, xpos, "--tokens-per-sample", 64, *overrides))
    assert blockwise == pytest.approx(loss_of_pieces(xpos, text, 64, attention_pattern="blockwise:2"), abs=2e-4)
    yarn = {
        "xpos_scaling": "yarn",
        "xpos_scaling_factor": 4.0,
        "xpos_original_length": 16,
        "xpos_attention_factor": 9.0,
    }
    scaled = loss_of(evaluate(text, xpos, "--tokens-per-sample", 64, "--model-overrides", repr(yarn)))
    assert scaled == pytest.approx(loss_of_pieces(xpos, text, 64, **yarn), abs=2e-4) and abs(scaled - full) > 1e-3
    assert abs(blockwise - full) > 1e-3
    longer = {"positions": "scale:4", "attention_pattern": "sinks:2,window:24", "attention_scale": "log-n:16"}
    found = loss_of(evaluate(text, xpos, "--tokens-per-sample", 64, "--model-overrides", repr(longer)))
    assert found == pytest.approx(loss_of_pieces(xpos, text, 64, **longer), abs=2e-4)
    assert abs(found - full) > 1e-3
    overrides = ["--model-overrides", "{'attention_pattern': 'blockwise:15'}"]
    line = one_line(evaluate(text, xpos, *overrides, status=2))
    assert "--attention-pattern blockwise:15: blocks are half of this length" in line and "give blockwise:16" in line


def test_a_limit_is_told(learned, text):
    line = one_line(evaluate(text, learned, "--tokens-per-sample", 64, status=2))
    assert "longer than the model's 16 positions (the longest has 64 tokens)" in line
    assert "--tokens-per-sample 16 or less" in line


def test_skipped_samples_are_told(learned, text):
    """Of two pieces, the second one is short enough: it alone is scored."""
    lines = (text.parent / "valid").read_text().splitlines()
    tokens = sum(len(line.split()) + 1 for line in lines)
    out = evaluate(text, learned, "--tokens-per-sample", tokens - 5)
    assert f"1 of 2 samples ({tokens - 5} of {tokens} tokens) are longer than the model's 16 positions" in out
    assert "Evaluated 5 tokens" in out


def test_sampling(xpos, text):
    """fairseq-generate continues the pieces of a text, with a cache that rolls."""
    words = ["--path", xpos, "--task", "language_modeling", "--tokens-per-sample", 8, "--gen-subset", "valid"]
    words += ["--model-overrides", "{'cache_size': 6}"]
    words += ["--sampling", "--sampling-topk", 5, "--beam", 2, "--nbest", 2, "--max-len-b", 12, "--batch-size", 7]
    out = with_plugin("fairseq-generate", text, *words)
    pieces = {int(i) for i in re.findall(r"^S-(\d+)\t", out, re.M)}
    assert len(pieces) > 10
    assert sorted(map(int, re.findall(r"^H-(\d+)\t", out, re.M))) == sorted([*pieces, *pieces])


def test_beam_search_scores_are_those_of_the_whole_pass(xpos, text):
    """Steps with a cache that rolls, beams reordered, against one pass over the finished sentence."""
    pattern = {"attention_pattern": "blockwise:4"}
    words = ["--path", xpos, "--task", "language_modeling", "--beam", 3, "--max-len-b", 12]
    words += ["--model-overrides", repr(pattern)]
    out = with_plugin("fairseq-interactive", text, *words, stdin="w1 w2 w3\n")
    sentence = re.search(r"^H-0\t\S+\t(.*)$", out, re.M).group(1)
    assert sentence.startswith("w1 w2 w3 ")
    scores = [float(s) for s in re.search(r"^P-0\t(.*)$", out, re.M).group(1).split()]
    models, _, task = checkpoint_utils.load_model_ensemble_and_task([str(xpos)], {"data": str(text), **pattern})
    tokens = task.source_dictionary.encode_line(sentence, add_if_not_exist=False).long()[None]
    previous = torch.cat([tokens[:, -1:], tokens[:, :-1]], dim=1)
    log_probs = models[0].eval().get_normalized_probs(models[0](previous), log_probs=True)
    expected = log_probs.gather(2, tokens[..., None]).flatten() / math.log(2)
    assert scores == pytest.approx(expected.tolist(), abs=2e-4)


def test_adaptive_softmax(text, tmp_path):
    """The architecture of WikiText-103, made small: adaptive input and softmax, adaptive loss."""
    flags = [*small_lm_flags("xpos"), "--criterion", "adaptive_loss", "--ddp-backend", "legacy_ddp"]
    flags += ["--adaptive-input-cutoff", "6,10", "--adaptive-softmax-cutoff", "6,10", "--adaptive-input-factor", 2]
    flags += ["--adaptive-softmax-factor", 2, "--decoder-input-dim", 16, "--decoder-output-dim", 16]
    checkpoint = train(text, tmp_path, lm_architecture("xpos", "wiki103"), *flags)
    out = evaluate(text, checkpoint, "--tokens-per-sample", 32)
    assert 2 < loss_of(out) < 6


def test_stock_checkpoint_evaluates_with_ours(text, tmp_path):
    """A checkpoint of stock fairseq-train, read as our architecture."""
    flags = [*small_lm_flags("sinusoidal"), "--activation-fn", "gelu"]
    checkpoint = train(text, tmp_path, "transformer_lm_gpt", *flags)
    arch = lm_architecture("sinusoidal")
    words = ["--tokens-per-sample", 16]
    out = evaluate(text, checkpoint, *words)
    # The second form is the one that fairseq itself knows.
    for overrides in ({"arch": arch}, {"model": {"arch": arch, "_name": arch}}):
        assert loss_of(evaluate(text, checkpoint, *words, "--model-overrides", repr(overrides))) == loss_of(out)
