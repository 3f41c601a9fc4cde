"""Word order can be learned with every encoding that claims it, and not without one: reversing a sequence."""

import pytest
import torch
from torch.nn import functional as F

from tests.support.encodings import CASES, one_of_each_kind
from tests.support.models import build_small

LENGTH, WORDS = 5, 8


def reversal(sentences, generator):
    """Random words and the same reversed, with fairseq's end-of-sentence symbol (2) on either side."""
    words = torch.randint(4, 4 + WORDS, (sentences, LENGTH), generator=generator)
    end = torch.full((sentences, 1), 2)
    return torch.cat([words, end], 1), torch.cat([end, words.flip(1)], 1), torch.cat([words.flip(1), end], 1)


def best_accuracy(encoding, enough, most_updates):
    """Share of words predicted right on fresh sentences; training ends when it is above ``enough``."""
    model = build_small(
        encoding,
        *("--encoder-embed-dim", 32, "--decoder-embed-dim", 32, "--encoder-ffn-embed-dim", 64),
        *("--decoder-ffn-embed-dim", 64, "--share-all-embeddings"),
        words=WORDS,
    )
    generator = torch.Generator().manual_seed(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
    best = 0
    for update in range(1, most_updates + 1):
        model.train()
        source, previous, target = reversal(64, generator)
        logits = model(source, None, previous)[0]
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if update % 100 == 0:
            model.eval()
            source, previous, target = reversal(500, generator)
            with torch.no_grad():
                guess = model(source, None, previous)[0].argmax(-1)
            best = max(best, (guess == target)[:, :LENGTH].float().mean().item())
            if best > enough:
                break
    return best


@pytest.mark.parametrize("name", one_of_each_kind())
def test_reversal(name):
    if CASES[name].informs:
        assert best_accuracy(name, enough=0.95, most_updates=2000) > 0.95
    else:
        assert best_accuracy(name, enough=0.95, most_updates=1000) < 0.65
