"""Beam search without a cache that is reordered: keys stay where they were written, and a mask says whose they are."""

import torch


class Ancestors:
    """Which keys of its sentence each hypothesis follows, the same for all layers of a decoder.

    The keys and values of a sentence lie in places (B, H, places, D): first those of the beginning that all of its
    hypotheses have in common, then, for each token after it, one per hypothesis. When hypotheses are exchanged for
    continuations of others, these keys remain as they are; only the mask changes.

    Args:
        batch: B, sentences, which have one row each so far.
        length: tokens of the common beginning.
        device: of the keys.
    """

    def __init__(self, batch: int, length: int, device: torch.device) -> None:
        self.batch = batch
        #: Tokens of each hypothesis.
        self.length = length
        #: (N, places), True at the keys of each hypothesis.
        self.own = torch.ones(batch, length, dtype=torch.bool, device=device)
        #: (places,), the column of each place.
        self.columns = torch.arange(length, device=device)
        #: (N,), the place of the newest key of each hypothesis, and of the one before it.
        self.newest = self.before = torch.full((batch,), length - 1, device=device)

    @property
    def width(self) -> int:
        """Hypotheses per sentence."""
        return len(self.own) // self.batch

    @property
    def visible(self) -> torch.Tensor:
        """(B, 1, width, places), True at the keys of each hypothesis."""
        return self.own.unflatten(0, (self.batch, 1, -1))

    def reorder(self, rows: torch.Tensor, batch: int) -> None:
        """Go on with the hypotheses ``rows`` of ``batch`` sentences, in the order of the sentences."""
        self.own, self.newest = self.own.index_select(0, rows), self.newest.index_select(0, rows)
        self.batch = batch

    def extend(self) -> None:
        """Every hypothesis goes on with one token, whose keys come to the next ``width`` places."""
        width, places, device = self.width, self.own.size(1), self.own.device
        of_each = torch.eye(width, dtype=torch.bool, device=device).repeat(self.batch, 1)
        self.own = torch.cat([self.own, of_each], dim=1)
        self.columns = torch.cat([self.columns, self.columns.new_full((width,), self.length)])
        self.before, self.newest = self.newest, torch.arange(places, places + width, device=device).repeat(self.batch)
        self.length += 1

    def last_of(self, k: torch.Tensor) -> torch.Tensor:
        """The key before the newest one of each hypothesis, (N, H, 1, D), of keys (B, H, places, D)."""
        places = self.before.view(self.batch, 1, -1, 1).expand(-1, k.size(1), -1, k.size(3))
        return by_row(k.gather(2, places))


def by_sentence(x: torch.Tensor, batch: int) -> torch.Tensor:
    """(N, H, 1, D) -> (B, H, N / B, D)."""
    return x.unflatten(0, (batch, -1)).squeeze(3).transpose(1, 2)


def by_row(x: torch.Tensor) -> torch.Tensor:
    """(B, H, N / B, D) -> (N, H, 1, D)."""
    return x.transpose(1, 2).flatten(0, 1).unsqueeze(2)
