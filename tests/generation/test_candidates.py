"""The best continuations, against sorting all of them."""

import math

import pytest
import torch

from fairseq_posenc.generation.candidates import best_continuations, log_softmax_


def sorted_continuations(log_probs, scores, width, count):
    """(score, token, parent) of each sentence, best first."""
    log_probs = log_probs.masked_fill(log_probs.isnan(), -math.inf)
    sums = log_probs if scores is None else log_probs + scores.unsqueeze(1)
    vocab_size = sums.size(1)
    for of_sentence in sums.view(-1, width * vocab_size).tolist():
        order = sorted(range(len(of_sentence)), key=lambda place: -of_sentence[place])[:count]
        yield [(of_sentence[place], place % vocab_size, place // vocab_size) for place in order]


@pytest.mark.parametrize("vocab_size", [12, 100, 700, 1500])
@pytest.mark.parametrize(("width", "count", "overflow"), [(1, 4, ()), (3, 6, ()), (3, 6, (1, 3))])
def test_equal_those_of_sorting_everything(vocab_size, width, count, overflow):
    """Rows that overflowed are never chosen."""
    generator = torch.Generator().manual_seed(1)
    log_probs = torch.randn(2 * width, vocab_size, generator=generator).log_softmax(1)
    log_probs[list(overflow)] = math.nan
    scores = None if width == 1 else torch.randn(2 * width, generator=generator)
    found = best_continuations(log_probs, scores, width, count)
    expected = list(sorted_continuations(log_probs, scores, width, count))
    for place, column in enumerate((found.scores, found.tokens, found.parents)):
        assert column.tolist() == [[each[place] for each in sentence] for sentence in expected]


def test_more_candidates_than_tokens():
    found = best_continuations(torch.tensor([[0.1, 0.7, 0.2]]).log(), None, 1, 5)
    assert found.tokens[0, :3].tolist() == [1, 2, 0] and found.scores[0, 3:].tolist() == [-math.inf] * 2
    assert found.parents.tolist() == [[0] * 5]


def test_log_softmax_in_place():
    logits = torch.randn(3, 50)
    expected = logits.log_softmax(1)
    assert torch.equal(log_softmax_(logits), expected) and torch.equal(logits, expected)
