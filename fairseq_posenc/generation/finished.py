"""Hypotheses that have ended, kept in tensors until the search is over."""

from typing import Any

import torch


class Finished:
    """The first ``beam`` hypotheses that end in each sentence, in the order in which they end.

    Args:
        batch: B, sentences.
        beam: hypotheses per sentence.
        length: of the longest hypothesis, in tokens.
        device: of all tensors.
    """

    def __init__(self, batch: int, beam: int, length: int, device: torch.device) -> None:
        self.batch, self.beam, self.length = batch, beam, length
        # One place more per sentence takes what ends too late.
        places = batch * (beam + 1)
        self._tokens = torch.zeros(places, length, dtype=torch.long, device=device)
        self._token_scores = torch.zeros(places, length, device=device)
        self._scores = torch.zeros(places, device=device)
        self._lengths = torch.zeros(places, dtype=torch.long, device=device)
        self._attention: torch.Tensor | None = None
        self.counts = [0] * batch

    def add(
        self,
        places: torch.Tensor,
        tokens: torch.Tensor,
        token_scores: torch.Tensor,
        scores: torch.Tensor,
        attention: torch.Tensor | None,
    ) -> None:
        """Keep N hypotheses of the same length.

        Args:
            places: (N,), sentence x (beam + 1) + rank, where rank ``beam`` stands for none.
            tokens: (N, T), with the end of the sentence.
            token_scores: (N, T), the log-probability of each token.
            scores: (N,).
            attention: (N, S, T) or None.
        """
        length = tokens.size(1)
        self._tokens[:, :length].index_copy_(0, places, tokens)
        self._token_scores[:, :length].index_copy_(0, places, token_scores)
        self._scores.index_copy_(0, places, scores)
        self._lengths.index_fill_(0, places, length)
        if attention is not None:
            if self._attention is None:
                self._attention = attention.new_zeros(len(self._tokens), attention.size(1), self.length)
            self._attention[:, :, :length].index_copy_(0, places, attention)

    def hypotheses(self) -> list[list[dict[str, Any]]]:
        """For each sentence, its hypotheses as fairseq's generator returns them, best first."""
        scores, lengths = self._scores.tolist(), self._lengths.tolist()
        rows = list(zip(self._tokens.unbind(), self._scores.unbind(), self._token_scores.unbind()))
        found = []
        for sentence, count in enumerate(self.counts):
            first = sentence * (self.beam + 1)
            places = sorted(range(first, first + count), key=lambda place: -scores[place])
            found.append([self._hypothesis(place, lengths[place], *rows[place]) for place in places])
        return found

    def _hypothesis(
        self, place: int, length: int, tokens: torch.Tensor, score: torch.Tensor, token_scores: torch.Tensor
    ) -> dict[str, Any]:
        attention = torch.empty(0) if self._attention is None else self._attention[place, :, :length]
        return {
            "tokens": tokens[:length],
            "score": score,
            "attention": attention,
            "alignment": torch.empty(0),
            "positional_scores": token_scores[:length],
        }
