"""The numbers of positions: what ``--positions`` chooses, before an encoding sees them.

Tokens are counted 0, 1, 2, .. in each sentence. A Numbering puts other numbers in the place of these: the encoding then
gives token t the embedding, rotation or bias of its number. Attention patterns and masks go on counting.
"""

from dataclasses import dataclass
from typing import ClassVar, Optional

import torch

from fairseq_posenc.encodings.base import ANY, CONSECUTIVE, PositionEncoding
from fairseq_posenc.encodings.limits import check_number
from fairseq_posenc.encodings.positions import PADDING, Positions
from fairseq_posenc.errors import InputError
from fairseq_posenc.names import Choices

#: The largest number of an option; such positions are still exact in fp32.
MOST = 1e6


class Numbering:
    """One choice of numbers."""

    #: How users write it, and what it means.
    form: ClassVar[str]
    help: ClassVar[str]
    #: Whether the numbers of the choice itself are whole.
    whole: ClassVar[bool] = False
    #: Whether numbers may be no whole ones.
    fractions: ClassVar[bool] = False
    #: Whether evaluation counts 0, 1, 2, ..
    training_only: ClassVar[bool] = False
    #: Whether all tokens of a sentence are moved by the same number.
    moves_all: ClassVar[bool] = False

    def longest(self, limit: Optional[int]) -> Optional[int]:
        """The longest text, in tokens, for an encoding with ``limit`` positions; None: no limit."""
        return limit

    def check(self, encoding: PositionEncoding) -> None:
        """Raise InputError where ``encoding`` has nothing for such numbers."""
        if self.moves_all and encoding.translation_invariant:
            return
        if encoding.numbers == CONSECUTIVE or (self.fractions and encoding.numbers != ANY):
            lacks = "between whole positions" if encoding.numbers != CONSECUTIVE else "but for consecutive positions"
            raise InputError(
                f"--positions {self}: {encoding.name} has nothing {lacks}; `fairseq-posenc list` shows what each "
                "encoding takes"
            )

    def acts(self, encoding: PositionEncoding, training: bool) -> bool:
        """Whether the numbers of this pass are others than 0, 1, 2, .. as far as ``encoding`` can tell."""
        return (training or not self.training_only) and not (self.moves_all and encoding.translation_invariant)

    def draw(self, length: int, device: torch.device, open_end: bool = False) -> Optional[torch.Tensor]:
        """What all sentences of a batch have in common that is random, for texts of up to ``length`` tokens.

        Args:
            open_end: the texts may go on after these tokens, and the numbers must not tell where they end.
        """
        return None

    def number(self, positions: Positions, batch: int, drawn: Optional[torch.Tensor]) -> Positions:
        """The Positions of B = ``batch`` sentences with other numbers; ``drawn``: by ``draw``.

        Random numbers are of PyTorch's default generator, which fairseq seeds at every update. Padding stays PADDING.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Index(Numbering):
    """``index``: 0, 1, 2, .."""

    form = "index"
    help = "0, 1, 2, .."

    def check(self, encoding: PositionEncoding) -> None:
        """Every encoding takes them."""

    def acts(self, encoding: PositionEncoding, training: bool) -> bool:
        return False

    def __str__(self) -> str:
        return "index"


@dataclass(frozen=True)
class Shift(Numbering):
    """``shift:K``: index + k with k ~ U{0 .. K - 1} for each sentence, in training only (SHAPE, Kiyono et al. 2021).

    Source and target of a translation have a k each. An encoding of distances has no use for it: nothing is drawn.
    """

    most: int
    form = "shift:K"
    whole = True
    help = "in training, all positions of a sentence plus one of 0 .. K - 1"
    training_only = True
    moves_all = True

    def __post_init__(self) -> None:
        check_number(f"--positions {self}: K", self.most, 1, MOST)

    def longest(self, limit: Optional[int]) -> Optional[int]:
        return None if limit is None else limit - self.most + 1

    def check(self, encoding: PositionEncoding) -> None:
        super().check(encoding)
        longest = self.longest(encoding.max_positions)
        if longest is not None and longest < 1:
            raise InputError(
                f"--positions {self} leaves no room for a text within the {encoding.max_positions} positions of "
                f"{encoding.name} ({encoding.length_limit}); give a smaller K, or more positions"
            )

    def number(self, positions: Positions, batch: int, drawn: Optional[torch.Tensor]) -> Positions:
        offsets = torch.randint(self.most, (batch, 1), device=positions.index.device)
        return renumbered(positions, positions.index + offsets, positions.stop + self.most - 1)

    def __str__(self) -> str:
        return f"shift:{self.most}"


@dataclass(frozen=True)
class Random(Numbering):
    """``random:N``: of 0 .. N - 1, as many as the longest sentence has tokens, sorted (Ruoss et al. 2023, section 3).

    They are drawn anew for each batch, in evaluation too, and the first t of them number a sentence of t tokens. The
    encoder and the decoder draw their own. Step by step, they are drawn for the longest text that may come, as the
    numbers of later tokens must not change those of earlier ones.

    In a decoder, they are the first of M numbers drawn in this way, M being uniform from the length of the longest
    sentence to N. With M = length, the gaps between the numbers would tell how many tokens are to come; a decoder
    learns that, and translations become about as long as generation allows. The models of the paper do not choose how
    long their answers are.
    """

    count: int
    form = "random:N"
    whole = True
    help = "a sorted sample of 0 .. N - 1, drawn for each batch"

    def __post_init__(self) -> None:
        check_number(f"--positions {self}: N", self.count, 1, MOST)

    def longest(self, limit: Optional[int]) -> int:
        return self.count if limit is None else min(limit, self.count)

    def check(self, encoding: PositionEncoding) -> None:
        super().check(encoding)
        limit = encoding.max_positions
        if limit is not None and self.count > limit:
            raise InputError(
                f"--positions {self} exceeds the {limit} positions of {encoding.name} ({encoding.length_limit}); give "
                f"random:{limit} or less, or more positions"
            )

    def draw(self, length: int, device: torch.device, open_end: bool = False) -> torch.Tensor:
        """(length,) int64, ascending."""
        if length > self.count:
            raise InputError(
                f"--positions {self} has {self.count} numbers, but the text has {length} tokens; give a larger N, or "
                "shorter texts"
            )
        drawn = int(torch.randint(length, self.count + 1, ())) if open_end else length
        return torch.randperm(self.count, device=device)[:drawn].sort().values[:length]

    def number(self, positions: Positions, batch: int, drawn: Optional[torch.Tensor]) -> Positions:
        assert drawn is not None
        return renumbered(positions, drawn[positions.index.clamp(min=0)], self.count)

    def __str__(self) -> str:
        return f"random:{self.count}"


@dataclass(frozen=True)
class Continuous(Numbering):
    """``continuous:S,E,R``: (index + shift + e) r, in training only (CAPE, Likhomanenko et al. 2021, section 3).

    shift ~ U(-S, S) and ln r ~ U(-ln R, ln R) for each sentence, e ~ U(-E, E) for each token. S = 5, E = 0.5 and
    R = 1.03 where they are not given. Positions are not centred, as the paper's are for images and speech.
    """

    shift: float = 5.0
    jitter: float = 0.5
    stretch: float = 1.03
    form = "continuous[:S,E,R]"
    help = "in training, (index + U(-S, S) + U(-E, E) for each token) times 1/R to R, 5,0.5,1.03 by default"
    fractions = True
    training_only = True

    def __post_init__(self) -> None:
        check_number(f"--positions {self}: S", self.shift, 0, MOST)
        check_number(f"--positions {self}: E, beyond which tokens change places,", self.jitter, 0, 0.5)
        check_number(f"--positions {self}: R", self.stretch, 1, 1000)

    def number(self, positions: Positions, batch: int, drawn: Optional[torch.Tensor]) -> Positions:
        index = positions.index.double().expand(batch, -1)
        shift, log_stretch = 2 * torch.rand(2, batch, 1, dtype=index.dtype, device=index.device) - 1
        jitter = 2 * torch.rand_like(index) - 1
        numbers = (index + self.shift * shift + self.jitter * jitter) * self.stretch**log_stretch
        return renumbered(positions, numbers, int(self.stretch * (positions.stop + self.shift + self.jitter)) + 1)

    def __str__(self) -> str:
        return f"continuous:{self.shift:g},{self.jitter:g},{self.stretch:g}"


@dataclass(frozen=True)
class Scale(Numbering):
    """``scale:S``: index / S (position interpolation, Chen et al. 2023), for texts S times as long as in training."""

    factor: float
    form = "scale:S"
    help = "index / S"
    fractions = True

    def __post_init__(self) -> None:
        check_number(f"--positions {self}: S", self.factor, 1e-3, MOST)

    def number(self, positions: Positions, batch: int, drawn: Optional[torch.Tensor]) -> Positions:
        return renumbered(positions, positions.index.double() / self.factor, int(positions.stop / self.factor) + 1)

    def __str__(self) -> str:
        return f"scale:{self.factor:g}"


def renumbered(positions: Positions, numbers: torch.Tensor, stop: int) -> Positions:
    """Positions with these numbers, all below ``stop``."""
    if positions.first is None:
        numbers = numbers.masked_fill(positions.index < 0, PADDING)
    return Positions(numbers, stop)


INDEX = Index()
CHOICES = Choices("--positions", (Index, Shift, Random, Continuous, Scale))
HELP = CHOICES.help


def numbering(text: "str | Numbering") -> Numbering:
    """The Numbering that ``--positions`` names. Raises InputError as ``Choices.parse`` does."""
    return CHOICES.parse(text)
