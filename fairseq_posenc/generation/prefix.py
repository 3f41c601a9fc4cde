"""Tokens that hypotheses must begin with."""

import math

import torch


class Prefix:
    """The first tokens of the hypotheses of each sentence.

    Args:
        tokens: (B, P); padding where a sentence has a shorter prefix, and its hypotheses are free.
        pad, eos: of the dictionary.
        max_len: steps from this one on ignore the prefix.
    """

    def __init__(self, tokens: torch.Tensor, pad: int, eos: int, max_len: int) -> None:
        self.tokens, self.pad, self.eos = tokens[:, :max_len], pad, eos
        free, self._ends = torch.stack([(self.tokens == index).any(dim=0) for index in (pad, eos)]).tolist()
        #: How many steps leave no sentence a choice. A step in which a sentence ends needs its whole beam before.
        self.forced = next((step for step, stops in enumerate(zip(free, self._ends)) if any(stops)), len(free))
        if self.ends(self.forced):
            self.forced = max(0, self.forced - 1)

    def covers(self, step: int) -> bool:
        """Whether the prefix of some sentence may have a token for this step."""
        return step < self.tokens.size(1)

    def ends(self, step: int) -> bool:
        """Whether the prefix of some sentence ends it in this step."""
        return self.covers(step) and self._ends[step]

    def ending(self, step: int) -> torch.Tensor:
        """(B,), the sentences that end in this step."""
        return self.tokens[:, step] == self.eos

    def force(self, step: int, log_probs: torch.Tensor) -> None:
        """Give other tokens than that of the prefix no probability: (N, V), with N / B rows per sentence."""
        tokens = self.tokens[:, step].repeat_interleave(len(log_probs) // len(self.tokens)).unsqueeze(1)
        own = log_probs.gather(1, tokens)
        log_probs.masked_fill_(tokens != self.pad, -math.inf)
        log_probs.scatter_(1, tokens, own)

    def select(self, sentences: torch.Tensor) -> None:
        """Keep the prefixes of these sentences."""
        self.tokens = self.tokens.index_select(0, sentences)
