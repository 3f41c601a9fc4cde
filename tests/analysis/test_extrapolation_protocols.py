"""What the protocols score, against naive loops: one forward pass a token."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fairseq_posenc.analysis.extrapolation import token_set
from fairseq_posenc.analysis.extrapolation_protocols import ByPosition, LastToken, Pieces, Sliding, scored_tokens
from fairseq_posenc.analysis.language_model import load_model, read_text
from fairseq_posenc.analysis.token_losses import token_losses
from fairseq_posenc.errors import InputError


@pytest.fixture(scope="module")
def text(lm_data):
    return read_text(lm_data, "test")


def naive_losses(model, text, contexts):
    """{token: -log p of it after so many inputs}, each by a forward pass of its own."""
    tokens, losses = text.tokens.tolist(), {}
    with torch.no_grad():
        for target, context in contexts.items():
            before = [2, *tokens][target + 1 - context : target + 1]
            logits = model(torch.tensor([before]))[0][0, -1]
            losses[target] = -float(torch.log_softmax(logits, dim=0)[tokens[target]])
    return losses


def count_sequences(found, module, inputs):
    found.append(len(inputs[0]))


def check(loaded, text, windows, contexts):
    """The losses of windows, in batches of several and of one, against the loop."""
    naive = naive_losses(loaded.model, text, contexts)
    for max_tokens in (1, 100):
        passed, sequences = [], []
        hook = loaded.decoder.register_forward_pre_hook(partial(count_sequences, sequences))
        losses, times = token_losses(loaded.model, text, windows, max_tokens, passed.append)
        hook.remove()
        assert sum(sequences) == len(windows)  # no forward pass twice
        assert np.flatnonzero(times).tolist() == sorted(contexts) and times.max() == 1
        assert sum(passed) == (windows[:, 1] - windows[:, 0]).sum()
        np.testing.assert_allclose(losses[times > 0], [naive[i] for i in sorted(naive)], atol=2e-5)
        assert np.isnan(losses[times == 0]).all()


# Each of these sees the absolute position, the distance or neither, and the last one attends by a pattern.
SYSTEMS = [("sinusoidal", "full"), ("xpos", "full"), ("none", "full"), ("xpos", "blockwise:8")]


@pytest.mark.parametrize(("encoding", "pattern"), SYSTEMS)
def test_last_token_is_a_double_loop(encoding, pattern, lm_checkpoint, text):
    loaded = load_model(lm_checkpoint(encoding), text)
    loaded.use_pattern(pattern)
    protocol, targets = LastToken(segments=9, seed=3), set()
    for length in (2, 5, 24):
        windows = protocol.windows(len(text), length, 24, 0)
        index = scored_tokens(windows)
        assert len(set(index.tolist())) == 9 and min(index) >= 23
        targets.add(tuple(index))
        check(loaded, text, windows, {int(target): length - 1 for target in index})
    assert len(targets) == 1


@pytest.mark.parametrize(("encoding", "pattern"), SYSTEMS)
def test_pieces_by_position_are_a_double_loop(encoding, pattern, lm_checkpoint, text):
    loaded = load_model(lm_checkpoint(encoding), text)
    loaded.use_pattern(pattern)
    short = text.first(72)
    for length in (9, 24, 72):
        windows = ByPosition().windows(72, length, 72, 0)
        check(loaded, short, windows, {target: target % length + 1 for target in range(72)})


@pytest.mark.parametrize(("length", "stride"), [(8, 1), (8, 8), (9, 4), (24, 5)])
def test_sliding_is_a_loop(length, stride, lm_checkpoint, text):
    loaded, short = load_model(lm_checkpoint("sinusoidal"), text), text.first(50)
    windows = Sliding(stride).windows(50, length, 50, 0)
    # Token t is of step t // stride; it sees its own step up to itself, and length - stride inputs before the step.
    contexts = {t: min(t + 1, t % stride + 1 + length - stride) for t in range(50)}
    check(loaded, short, windows, contexts)


def test_adaptive_softmax(lm_checkpoint, text):
    flags = ["--adaptive-softmax-cutoff", "6,10", "--adaptive-softmax-factor", 2, "--criterion", "adaptive_loss"]
    loaded = load_model(lm_checkpoint("alibi", *flags), text)
    softmax, short = loaded.decoder.adaptive_softmax, text.first(40)
    losses, _ = token_losses(loaded.model, short, Pieces().windows(40, 20, 20, 0), 1000, lambda count: None)
    features = loaded.model.extract_features(short.inputs.view(2, 20))[0]
    expected = -softmax.get_log_prob(features, None).gather(2, short.tokens.view(2, 20, 1))
    np.testing.assert_allclose(losses, expected.flatten(), atol=1e-5)


def test_stock_model(lm_checkpoint, text):
    path = lm_checkpoint("sinusoidal", "--max-target-positions", 192, arch="transformer_lm_gpt")
    check(load_model(path, text), text, Pieces().windows(192, 96, 96, 0), {t: t % 96 + 1 for t in range(192)})


def test_long_texts_are_scored_in_parts(lm_checkpoint, text, monkeypatch):
    """The logits of all tokens at once would not fit into memory: parts of them give the same."""
    loaded, windows = load_model(lm_checkpoint("alibi"), text), Pieces().windows(192, 64, 64, 0)
    whole, _ = token_losses(loaded.model, text, windows, 1000, lambda count: None)
    monkeypatch.setattr("fairseq_posenc.analysis.token_losses.LOGITS", 7 * 16)
    parts, _ = token_losses(loaded.model, text, windows, 1000, lambda count: None)
    np.testing.assert_allclose(parts, whole, atol=1e-6)


def test_last_token_draws():
    def targets(protocol, pair=0):
        return scored_tokens(protocol.windows(1000, 16, 64, pair)).tolist()

    assert targets(LastToken(50)) == targets(LastToken(50), pair=4) != targets(LastToken(50, seed=2))
    assert targets(LastToken(50, by_seed=True), 0) != targets(LastToken(50, by_seed=True), 1)
    everything = targets(LastToken(937))
    assert everything == list(range(63, 1000))


def test_the_text_is_cut_off_at_a_multiple():
    assert Pieces().used(1000, [64, 256, 128]) == 768
    assert Pieces().used(1000, [100, 250]) == 1000
    assert Sliding(4).used(1003, [8, 64]) == 1003
    with pytest.raises(InputError, match="takes 4032 tokens.*each divides the next"):
        Pieces().used(1000, [63, 64])


@pytest.mark.parametrize(
    ("protocol", "lengths", "message"),
    [
        (Pieces(), [64, 2048], "length 2048 is more than the text's 1000 tokens"),
        (ByPosition(), [1001], "length 1001 is more than the text's 1000 tokens"),
        (
            LastToken(738),
            [64, 264],
            "length 264 needs 263 preceding tokens, which only 737 of the text's 1000 tokens have",
        ),
        (LastToken(), [4000], "length 4000 is more"),
        (Sliding(65), [128, 64], "--stride 65 is more than the length 64"),
        (Sliding(1), [1024], "length 1024 is more"),
    ],
)
def test_what_the_text_cannot_give(protocol, lengths, message):
    with pytest.raises(InputError, match=message):
        protocol.used(1000, lengths)


def test_the_most_that_a_text_can_give():
    """Every token that has enough context; windows that move by their whole length; every token of a text."""
    everything = LastToken(segments=17)
    assert everything.used(20, [2, 4]) == 20
    assert everything.windows(20, 4, 4, 0)[:, 1].tolist() == list(range(4, 21))
    whole = Sliding(stride=4)
    assert whole.used(20, [4, 8]) == 20
    assert whole.windows(20, 4, 8, 0)[:, 0].tolist() == [0, 4, 8, 12, 16]


def test_identifiers_of_token_sets_stay():
    """So that results of earlier versions can be added to."""
    text = SimpleNamespace(tokens=torch.arange(10))
    assert token_set(text, np.array([1, 4])) == "f05e1c22b5dfeab7"
