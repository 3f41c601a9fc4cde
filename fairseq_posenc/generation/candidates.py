"""The best tokens out of a vocabulary."""

import math
from typing import NamedTuple

import torch

#: On a CPU, the best of a row are looked for among the columns of so many groups as have the highest maxima.
GROUP = 64


class Candidates(NamedTuple):
    """Continuations of the hypotheses of each sentence, best first, (B, K) each.

    Args:
        scores: sums of log-probabilities.
        tokens: the next token.
        parents: which hypothesis of the sentence each one continues.
    """

    scores: torch.Tensor
    tokens: torch.Tensor
    parents: torch.Tensor

    def select(self, sentences: torch.Tensor) -> "Candidates":
        """Those of some sentences."""
        return Candidates(*(x.index_select(0, sentences) for x in self))


def log_softmax_(logits: torch.Tensor) -> torch.Tensor:
    """The log-softmax of each row of (N, V); on a CPU, in the memory of ``logits``."""
    if logits.device.type != "cpu":
        return torch.log_softmax(logits, dim=1)
    # The kernel reads a row to its end before it writes there. It takes less time than a sum of exponentials alone.
    return torch.log_softmax(logits, dim=1, out=logits)


def best_of_rows(values: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The ``count`` largest numbers of each row of (N, V), sorted, and their columns: (N, count) each."""
    grouped = values.size(1) // GROUP
    if values.device.type != "cpu" or grouped < 2 * count:
        return values.topk(count)
    # PyTorch's kernel for CPUs copies every number; maxima of groups are found with vector instructions.
    maxima = values[:, : grouped * GROUP].unflatten(1, (grouped, GROUP)).amax(dim=2)
    groups = maxima.topk(count, sorted=False).indices
    columns = (groups.unsqueeze(2) * GROUP + torch.arange(GROUP)).flatten(1)
    rest = torch.arange(grouped * GROUP, values.size(1)).expand(values.size(0), -1)
    columns = torch.cat([columns, rest], dim=1)
    found, places = values.gather(1, columns).topk(count)
    return found, columns.gather(1, places)


def best_continuations(log_probs: torch.Tensor, scores: torch.Tensor | None, width: int, count: int) -> Candidates:
    """The ``count`` best continuations of each sentence by beam search.

    Args:
        log_probs: of the next token, (N, V), for ``width`` hypotheses per sentence.
        scores: of these hypotheses, (N,); None: 0.
    """
    of_row = min(count, log_probs.size(1))
    found, tokens = best_of_rows(log_probs, of_row)
    found = found.masked_fill(found.isnan(), -math.inf)
    if scores is not None:
        found = found + scores.unsqueeze(1)
    found, tokens = found.view(-1, width * of_row), tokens.view(-1, width * of_row)
    missing = count - found.size(1)
    if missing > 0:  # a tiny vocabulary: candidates that cannot win
        found = torch.nn.functional.pad(found, (0, missing), value=-math.inf)
        tokens = torch.nn.functional.pad(tokens, (0, missing))
    best, places = found.topk(count)
    return Candidates(best, tokens.gather(1, places), (places // of_row).clamp(max=width - 1))
