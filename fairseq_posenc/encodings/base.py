"""What every positional encoding is: a module with hooks, and facts about itself.

Shapes in this package: ``B`` batch, ``T`` length, ``H`` heads, ``D`` head dimension, ``C`` model dimension.
"""

import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any, Optional

import torch
from torch import nn

from fairseq_posenc.encodings.distances import Distance
from fairseq_posenc.encodings.options import SIDE, Option, Sharing, constructor_options, sharing_option
from fairseq_posenc.encodings.positions import Idx, Positions, is_eager

BEFORE_DROPOUT = "before dropout"
AFTER_DROPOUT = "after dropout"

#: What numbers tokens may have for positions: 0, 1, 2, .. alone, other whole numbers, or all (see numbering.py).
CONSECUTIVE = "consecutive"
WHOLE = "whole"
ANY = "any"

#: Every hook, and what it changes.
HOOKS = {
    "embed": "embeddings",
    "rotate": "queries and keys",
    "extend": "queries and keys",
    "decay": "queries and keys",
    "scores": "scores",
    "bias": "scores",
    "position_bias": "scores",
    "mix": "values",
    "values": "values",
}


@dataclass(frozen=True)
class Stack:
    """The encoder or decoder that an encoding is built for.

    Args:
        model_dim: C, the dimension of the embeddings and of the residual stream.
        heads: H, attention heads of a layer.
        max_positions: the longest sequence the stack accepts; tables that cannot grow have this many rows.
        causal: True where queries see only their own and earlier positions.
        first_row: rows that tables of absolute positions keep free before position 0. fairseq keeps its padding
            index and everything below it free, so its Transformers have first_row = padding index + 1 = 2.
    """

    model_dim: int
    heads: int = 1
    max_positions: int = 1024
    causal: bool = False
    first_row: int = 0

    @property
    def head_dim(self) -> int:
        """D."""
        return self.model_dim // self.heads


class PositionEncoding(nn.Module):
    """A positional encoding: the hooks it uses are overridden, the others do nothing.

    Hooks take positions, never lengths: step-by-step decoding, left padding, blocks and windows are then no special
    case. ``embed``, ``values`` and ``position_bias`` take the index of each token in its own sentence. The other hooks
    take ``q_idx`` and ``kv_idx``, the column indices of queries and keys in the batch: only their differences matter,
    and these are the same for every sentence. Both are consecutive, so each is a Python ``range``. In a causal stack,
    later keys in such a range are hidden: what ``scores`` returns for them does not matter.

    Where ``--positions`` or a pattern has it otherwise, both are Positions: numbers (B, T) or (1, T) whose differences
    matter, PADDING at padding. Numbers may be no whole ones, then in fp64, if ``numbers`` is ANY.

    Hooks keep the dtype of what they are given (biases are fp32); numbers that come from positions are computed in
    fp32 or better.

    Constructor: ``Encoding(stack, **options)``; see options.py for how it declares them. Values that an option does
    not take raise InputError.
    """

    #: Set by the registry: the name after ``--position-encoding``, in tables, tests and plots.
    name: str
    #: One line for ``fairseq-posenc list``.
    summary: str
    #: Paper and equation.
    source: str
    #: Adding the same number to all positions changes nothing.
    translation_invariant: bool
    #: Which numbers the hooks take for positions: CONSECUTIVE, WHOLE or ANY.
    numbers: str = CONSECUTIVE
    #: Whether ``distance`` may be set: what ``--distance`` puts in the place of distances.
    takes_distance: bool = False
    distance: Optional[Distance] = None
    #: Whether scores depend on the keys between a query and a key, so that all of these must be there.
    counts_between: bool = False
    #: What bounds the positions (a flag), or None where every length is accepted.
    length_limit: Optional[str] = None
    #: Where ``embed`` applies: BEFORE_DROPOUT (and before layernorm-embedding), or AFTER_DROPOUT.
    embeds = BEFORE_DROPOUT
    #: What flags begin with, where it is not the name.
    flag_prefix: Optional[str] = None
    #: What one instance serves, where that can be chosen; otherwise the encoder or the decoder.
    sharing: Optional[Sharing] = None
    #: Size of an architecture -> constructor arguments it sets, such as {"wmt_en_de_big": {"kernel_dim": 256}}.
    size_defaults: dict[str, dict[str, Any]] = {}

    def __new__(cls, *arguments: Any, **options: Any) -> "PositionEncoding":
        if arguments or options:  # copying and unpickling give none
            given = inspect.signature(cls).bind(*arguments, **options).arguments
            for name, option in cls.constructor_options().items():
                if name in given:
                    option.check(given[name])
        return super().__new__(cls)

    def __init__(self, stack: Stack) -> None:
        super().__init__()
        self.stack = stack
        self._exact: dict[str, torch.Tensor] = {}

    def keep_exact(self, name: str, numbers: torch.Tensor) -> None:
        """Keep a tensor of numbers that follow from positions or heads, for ``exact``.

        Whatever becomes of the module, they keep their dtype. They are no part of a checkpoint.
        """
        # Not a buffer: .half() and sharded data parallelism would round it.
        self._exact[name] = numbers

    def exact(self, name: str, device: torch.device) -> torch.Tensor:
        """The numbers of ``keep_exact``, on ``device``."""
        numbers = self._exact[name]
        if numbers.device != device:
            numbers = numbers.to(device)
            if is_eager():  # nor keep what PyTorch computes with while it compiles
                self._exact[name] = numbers
        return numbers

    @property
    def max_positions(self) -> Optional[int]:
        """The number of positions this instance accepts, or None without a limit."""
        return None

    @property
    def counts_from_start(self) -> bool:
        """Whether hooks that compare must have positions in a text, whose columns may begin elsewhere."""
        return False

    def share(self, first: "PositionEncoding") -> None:
        """Take from the encoding of the first layer what all layers share, where each has an instance of its own."""

    def begin_pass(self) -> None:
        """Called before the layers of a stack that share this instance, also before each step of decoding.

        What is drawn at random for all of them is drawn here, and stays until the next pass begins.
        """

    def embed(self, x: torch.Tensor, positions: Positions) -> torch.Tensor:
        """Give embeddings their positions: x (B, T, C), Positions -> (B, T, C).

        Position 0 is the first token of a sentence, and no sentence has a position twice; ``--positions`` gives other
        numbers, and those of a later token are larger. The result at padding does not matter. Reading
        ``positions.index`` makes a GPU wait; ``first`` and ``stop`` are plain numbers.
        """
        return x

    def rotate(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> tuple[torch.Tensor, torch.Tensor]:
        """Turn queries and keys by their positions: (B, H, Tq, D), (B, H, Tk, D), indices -> the same shapes.

        Called once for every key, before it is cached.
        """
        return q, k

    def extend(
        self, q: torch.Tensor, k: torch.Tensor, x: torch.Tensor, last: Optional[torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Give queries and keys more dimensions, from what their layer reads: (B, H, T, D) twice -> (B, H, T, E) twice.

        Called once for every key, after ``rotate`` and before it is cached. Scores are still divided by sqrt(D).

        Args:
            x: (B, T, C), what the layer's projections read.
            last: (B, H, 1, E), the newest of the cached keys; None where there are none.
        """
        return q, k

    def decay(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> tuple[torch.Tensor, torch.Tensor]:
        """Scale queries and all their keys, cached ones too: (B, H, Tq, D), (B, H, Tk, D), indices -> the same shapes.

        For factors that only make sense relative to the others, and that would leave the range of the dtype if a
        cache kept them. Both results may have a wider dtype.
        """
        return q, k

    def bias(self, q_idx: Idx, kv_idx: Idx, device: torch.device) -> Optional[torch.Tensor]:
        """What is added to the scores after 1/sqrt(D): in fp32, contiguous, or None.

        Two ranges -> (H, Tq, Tk); two Positions -> (B, H, Tq, Tk), or (1, H, Tq, Tk) where both are one row.
        """
        return None

    def position_bias(self, positions: torch.Tensor, q_idx: range, kv_idx: range) -> Optional[torch.Tensor]:
        """The same for a bias that depends on where in its text a query is: (B or 1, H, Tq, Tk), or None.

        Args:
            positions: (B or 1, Tq) int64, the index of each query in its own sentence; may be anything at padding. One
                row stands for all sentences.
        """
        return None

    def scores(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> torch.Tensor:
        """Query times key: (B, H, Tq, D), (B, H, Tk, D), indices -> (B, H, Tq, Tk).

        Queries are divided by sqrt(D) before, unless ``extend`` gives them more dimensions: then the result is. Only
        for encodings whose scores are no product of one vector per query with one per key: fused kernels are then out
        of reach (see ``plain_products``).
        """
        return q @ k.transpose(-2, -1)

    def mix(self, weights: torch.Tensor, v: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> torch.Tensor:
        """The weighted sum of values: (B, H, Tq, Tk) in fp32 or better, (B, H, Tk, D), indices -> (B, H, Tq, D)."""
        return weights.to(v.dtype) @ v

    def values(self, v: torch.Tensor, positions: Positions) -> torch.Tensor:
        """Give values their positions: v (B, H, T, D), Positions -> (B, H, T, D)."""
        return v

    @property
    def plain_products(self) -> bool:
        """Whether attention is softmax(q k^T) v of what the other hooks return, so that fused kernels compute it."""
        return not (self.overrides("scores") or self.overrides("mix"))

    @classmethod
    def overrides(cls, hook: str) -> bool:
        """Whether this encoding uses the hook of that name."""
        return getattr(cls, hook) is not getattr(PositionEncoding, hook)

    @classmethod
    def acts_on_attention(cls) -> bool:
        """Whether attention layers must call this encoding."""
        return any(cls.overrides(hook) for hook in HOOKS if hook != "embed")

    @classmethod
    def compares(cls) -> bool:
        """Whether a hook takes the indices of queries and keys."""
        return any(cls.overrides(hook) for hook in ("rotate", "decay", "scores", "bias", "mix"))

    @classmethod
    @cache
    def constructor_options(cls) -> dict[str, Option]:
        """{argument: Option} of the constructor."""
        return constructor_options(cls.__init__, cls._flag_prefix())

    @classmethod
    @cache
    def options(cls) -> dict[str, Option]:
        """{name: Option} of the constructor, and that of ``sharing``."""
        options = dict(cls.constructor_options())
        if cls.sharing:
            options[cls.sharing.name] = sharing_option(cls.sharing, cls._flag_prefix())
        return options

    @classmethod
    def _flag_prefix(cls) -> str:
        if cls.flag_prefix is not None:
            return cls.flag_prefix
        return getattr(cls, "name", cls.__name__.lower())

    @classmethod
    def scope(cls, options: dict[str, Any]) -> str:
        """MODEL, SIDE, LAYER or FIRST (see options.py): what one instance serves with these options (a dict)."""
        return cls.sharing.scopes[options[cls.sharing.name]] if cls.sharing else SIDE
