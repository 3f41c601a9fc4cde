"""Order can be learned with every encoding that claims to tell it, and not without one; sorting needs none."""

import pytest
import torch
from torch.nn import functional as F

from tests.support.encodings import CASES, one_of_each_kind
from tests.support.models import build_small

LENGTH, WORDS = 5, 8
TASKS = {
    "copy": lambda words: words,
    "reversal": lambda words: words.flip(1),
    "sorting": lambda words: words.sort(1).values,
}
#: Besides reversal with one encoding of each kind, the fast suite has these.
FAST = [("copy", "shaw"), ("sorting", "none")]


def sentences(task, count, generator):
    """Random words, and what the task makes of them, with fairseq's end-of-sentence symbol (2) on either side."""
    words = torch.randint(4, 4 + WORDS, (count, LENGTH), generator=generator)
    end = torch.full((count, 1), 2)
    target = TASKS[task](words)
    return torch.cat([words, end], 1), torch.cat([end, target], 1), torch.cat([target, end], 1)


def best_accuracy(encoding, task, enough, most_updates):
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
        source, previous, target = sentences(task, 64, generator)
        logits = model(source, None, previous)[0]
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if update % 100 == 0:
            model.eval()
            source, previous, target = sentences(task, 500, generator)
            with torch.no_grad():
                guess = model(source, None, previous)[0].argmax(-1)
            best = max(best, (guess == target)[:, :LENGTH].float().mean().item())
            if best > enough:
                break
    return best


def tasks():
    """Parameters (task, encoding): all, most of them slow."""
    for task in TASKS:
        for parameter in one_of_each_kind():
            (name,), fast = parameter.values, task == "reversal" and not parameter.marks
            yield pytest.param(task, name, marks=() if fast or (task, name) in FAST else pytest.mark.slow)


@pytest.mark.parametrize(("task", "name"), tasks())
def test_task(task, name):
    if CASES[name].informs or task == "sorting":
        assert best_accuracy(name, task, enough=0.95, most_updates=2000) > 0.95
    else:
        assert best_accuracy(name, task, enough=0.95, most_updates=1000) < 0.65
