"""The protocols of length extrapolation: which part of a text a model reads, and which of its tokens are scored.

A window is a row ``start, stop, scored`` of an int64 array: the model reads inputs start .. stop - 1, where input i is
the token before token i, and its predictions of the last ``scored`` tokens count. A protocol scores the same tokens at
every length, only with more or less context.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Optional

import numpy as np

from fairseq_posenc.errors import InputError


@dataclass(frozen=True)
class Pieces:
    """Non-overlapping pieces of the same text (Sun et al. 2023, section 4.2): ``fairseq-eval-lm --tokens-per-sample``.

    All tokens are scored; tokens at the beginning of a piece have little context. The text is truncated to a multiple
    of all lengths, so that every piece has its full length.
    """

    name: ClassVar[str] = "pieces"
    shortest: ClassVar[int] = 1

    def used(self, tokens, lengths):
        """The number of tokens used out of ``tokens``. Raises InputError if the text is too short."""
        check_longest(tokens, lengths)
        multiple = math.lcm(*lengths)
        if multiple > tokens:
            raise InputError(
                f"lengths {', '.join(map(str, lengths))}: the text of {tokens} tokens is too short to divide into "
                f"pieces of every length (which takes {multiple} tokens); choose lengths of which each divides the next"
            )
        return tokens - tokens % multiple

    def windows(self, tokens, length, longest, pair):
        starts = np.arange(0, tokens, length)
        return rows(starts, starts + length, length)


@dataclass(frozen=True)
class ByPosition(Pieces):
    """The same pieces, with a loss for each bucket of positions in the piece, from a single pass.

    ``bucket``: number of positions per bucket; None: a 64th of the length.
    """

    bucket: Optional[int] = None
    name: ClassVar[str] = "by-position"

    def buckets(self, length):
        """The first position of every bucket."""
        width = max(1, length // 64) if self.bucket is None else self.bucket
        return np.arange(0, length, width)


@dataclass(frozen=True)
class LastToken:
    """Segments of which only the last token is scored (Chi et al. 2023, section 3.4); ``length`` includes this token.

    ``segments`` tokens are drawn from those with enough context for the longest length. ``seed``: of the random draw.
    ``by_seed``: draw anew for the i-th checkpoint of every name.
    """

    segments: int = 1000
    seed: int = 1
    by_seed: bool = False
    name: ClassVar[str] = "last-token"
    shortest: ClassVar[int] = 2

    def used(self, tokens, lengths):
        check_longest(tokens, lengths)
        longest = max(lengths)
        if self.segments > tokens - longest + 1:
            raise InputError(
                f"--segments {self.segments}: length {longest} needs {longest - 1} preceding tokens, which only "
                f"{tokens - longest + 1} of the text's {tokens} tokens have; give fewer segments, a smaller length or "
                "a longer text"
            )
        return tokens

    def windows(self, tokens, length, longest, pair):
        generator = np.random.default_rng([self.seed, pair if self.by_seed else 0])
        targets = longest - 1 + generator.choice(tokens - longest + 1, self.segments, replace=False)
        targets.sort()
        return rows(targets - length + 2, targets + 1, 1)


@dataclass(frozen=True)
class Sliding:
    """A window of ``length`` tokens that moves by ``stride`` tokens and scores these (stride 1: Press et al. 2022), as
    ``fairseq-eval-lm --tokens-per-sample LENGTH --context-window LENGTH-STRIDE`` does.

    The first window scores all its tokens, in one pass.
    """

    stride: int
    name: ClassVar[str] = "sliding"
    shortest: ClassVar[int] = 1

    def used(self, tokens, lengths):
        check_longest(tokens, lengths)
        if self.stride > min(lengths):
            raise InputError(
                f"--stride {self.stride} is more than the length {min(lengths)}, which would skip tokens; give at most "
                f"{min(lengths)}"
            )
        return tokens

    def windows(self, tokens, length, longest, pair):
        whole = length - length % self.stride
        scored_from = np.arange(whole, tokens, self.stride)
        stops = np.minimum(scored_from + self.stride, tokens)
        later = rows(scored_from - (length - self.stride), stops, stops - scored_from)
        return np.concatenate([rows(np.zeros(1, int), whole, whole), later])


PROTOCOLS = {protocol.name: protocol for protocol in (Pieces, LastToken, Sliding, ByPosition)}


def rows(starts, stops, scored):
    """Windows from their columns, arrays or numbers."""
    columns = np.broadcast_arrays(starts, stops, scored)
    return np.stack(columns, axis=1).astype(np.int64)


def check_longest(tokens, lengths):
    if max(lengths) > tokens:
        raise InputError(
            f"length {max(lengths)} is more than the text's {tokens} tokens; leave it out, or give a longer text"
        )


def scored_tokens(windows):
    """The indices of the tokens that these windows score, in the order of the windows: (n,) int64."""
    stops, scored = windows[:, 1], windows[:, 2]
    ends = np.cumsum(scored)
    return np.arange(ends[-1]) - np.repeat(ends, scored) + np.repeat(stops, scored)
