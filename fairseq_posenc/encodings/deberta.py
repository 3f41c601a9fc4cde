"""DeBERTa's disentangled attention: content to content, content to position, and position to content."""

import math
from typing import Annotated, Any, Literal, Optional

import torch
from torch import nn

from fairseq_posenc.encodings.base import WHOLE, PositionEncoding, Stack
from fairseq_posenc.encodings.limits import check_table
from fairseq_posenc.encodings.options import LAYER
from fairseq_posenc.encodings.positions import Idx, index_of, is_eager
from fairseq_posenc.encodings.products import product_by_head
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.errors import InputError

#: What is beyond has the last row, where ``max_distance`` is not given.
MAX_DISTANCE = 512


@register_encoding("deberta")
class DeBERTa(PositionEncoding):
    """``score = (q_i k_j + q_i K[d(i, j)] + k_j Q[d(j, i)]) / sqrt(3D)`` with ``K = P W_K``, ``Q = P W_Q`` (He et al.
    2021, Eq 4), d(i, j) the row of the distance i - j: 0 for keys far ahead to 2 ``span`` - 1 for those far behind.

    All layers share P (2 span, C); each has W_K and W_Q (C, C) of its own, without biases. All start normal with a
    standard deviation of 0.02, as there.

    - ``spacing="plain"``: the paper's rows, one for each distance up to span, which is 512 there. ``"log"``: those of
      the authors' DeBERTa-v2 and v3: distances up to span/2 have a row each, those up to ``max_distance`` share the
      others in logarithmic steps.
    - The authors' code, and Hugging Face's, take Q[d(i, j)] in place of the paper's Q[d(j, i)]. Their first version has
      a bias in W_Q; their second has a layer norm and dropout on P, and W_K and W_Q that are those of the content. None
      of this is here, nor is the absolute position that the enhanced mask decoder adds before the output.
    - The paper has an encoder alone. In the decoder the same formula reads one half of the rows of K and the other half
      of those of Q.

    Raises:
        InputError: a span that is too small, odd in ``log``, or more than the memory holds; a ``max_distance`` that is
            not beyond the distances with a row each, or that ``plain`` would not use.
    """

    summary = "content to position and position to content, by learned vectors of distances"
    source = "He et al. 2021 (ICLR, DeBERTa), Eq 2-4"
    translation_invariant = True
    numbers = WHOLE
    takes_distance = True

    def __init__(
        self,
        stack: Stack,
        span: Annotated[int, "rows of the table for each direction"] = 256,
        spacing: Annotated[
            Literal["log", "plain"], "rows in logarithmic steps (DeBERTa-v2), or one for each distance (the paper)"
        ] = "log",
        max_distance: Annotated[
            Optional[int], f"log: distance from which on all share the last row (default: {MAX_DISTANCE})"
        ] = None,
    ) -> None:
        super().__init__(stack)
        self.span, self.log = span, spacing == "log"
        self.max_distance = MAX_DISTANCE if max_distance is None else max_distance
        self.exact_distances = span // 2 if self.log else span
        if not self.log and max_distance is not None:
            raise InputError(
                f"--deberta-max-distance {max_distance} is for --deberta-spacing log; leave it out, or set "
                "--deberta-span"
            )
        if span < (4 if self.log else 1) or (self.log and span % 2):
            raise InputError(
                f"--deberta-span must be {'even and at least 4' if self.log else 'at least 1'}, but is {span}"
            )
        if self.log and self.max_distance <= self.exact_distances + 1:
            raise InputError(
                f"--deberta-max-distance {self.max_distance} is not beyond the {self.exact_distances + 1} distances "
                "that have a row of their own; give a larger value, or a smaller --deberta-span"
            )
        check_table(f"--deberta-span {span}", 2 * span, stack.model_dim)
        self.table = nn.Parameter(torch.empty(2 * span, stack.model_dim))
        self.project_key = nn.Linear(stack.model_dim, stack.model_dim, bias=False)
        self.project_query = nn.Linear(stack.model_dim, stack.model_dim, bias=False)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.02)

    @classmethod
    def scope(cls, options: dict[str, Any]) -> str:
        return LAYER

    def share(self, first: PositionEncoding) -> None:
        assert isinstance(first, DeBERTa)
        self.table = first.table

    def scores(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> torch.Tensor:
        distances = index_of(q_idx, q.device).unsqueeze(2) - index_of(kv_idx, q.device).unsqueeze(1)
        if distances.shape[:2] == (1, 1):
            to_position, from_position = self._of_one_query(q, k, distances.flatten())
        else:
            to_position, from_position = self._of_queries(q, k, q_idx, kv_idx, distances)
        # q is divided by sqrt(D) already, k is not.
        from_position = from_position / math.sqrt(self.stack.head_dim)
        return (q @ k.transpose(-2, -1) + to_position + from_position) / math.sqrt(3)

    def _of_one_query(
        self, q: torch.Tensor, k: torch.Tensor, distances: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Content to position and position to content, (B, H, 1, T), at distances (T,): a step of decoding."""
        keys = self._vectors(self.project_key, self._rows(distances)).to(q.dtype)
        queries = self._vectors(self.project_query, self._rows(-distances)).to(k.dtype)
        return product_by_head(q, keys.transpose(1, 2)), (k * queries).sum(-1).unsqueeze(2)

    def _of_queries(
        self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx, distances: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Content to position and position to content, (B, H, Tq, Tk), at distances (B or 1, Tq, Tk)."""
        if isinstance(q_idx, range) and isinstance(kv_idx, range):
            low, high = q_idx.start - (kv_idx.stop - 1), q_idx.stop - 1 - kv_idx.start
        else:
            high = max(q_idx.stop, kv_idx.stop)
            low = -high
        if self.stack.causal:  # what lies ahead is hidden
            low, high = 0, max(high, 0)
        to_position = self._products(q, self.project_key, distances, low, high)
        from_position = self._products(k, self.project_query, -distances.transpose(1, 2), -high, -low)
        return to_position, from_position.transpose(-2, -1)

    def _products(
        self, x: torch.Tensor, project: nn.Linear, distances: torch.Tensor, low: int, high: int
    ) -> torch.Tensor:
        """x (B, H, T, D) times the projected rows of distances (B or 1, T, S), ``low`` to ``high``: (B, H, T, S)."""
        rows = self._rows(torch.arange(low, high + 1, device=x.device))
        first, last = 0, 2 * self.span - 1
        if is_eager():  # a step of decoding needs few rows
            first, last = self._rows(torch.tensor([low, high])).tolist()
        vectors = self._vectors(project, slice(first, last + 1)).transpose(1, 2).to(x.dtype)
        wanted = (rows - first)[(distances - low).clamp(0, high - low)]
        return product_by_head(x, vectors).gather(-1, wanted.unsqueeze(1).expand(*x.shape[:2], -1, -1))

    def _vectors(self, project: nn.Linear, rows: torch.Tensor | slice) -> torch.Tensor:
        """Projected rows of the table: (H, N, D)."""
        return project(self.table[rows]).unflatten(-1, (self.stack.heads, -1)).transpose(0, 1)

    def _rows(self, distances: torch.Tensor) -> torch.Tensor:
        """The rows d of distances i - j, both int64."""
        if self.distance is not None:
            distances = self.distance(distances)
        steps, exact = distances.abs(), self.exact_distances
        if self.log:
            growth = torch.log(steps.clamp(min=exact).double() / exact) / math.log((self.max_distance - 1) / exact)
            # Powers that are whole numbers end a row: the small number keeps rounding from moving them on.
            steps = torch.where(steps <= exact, steps, exact + (growth * (exact - 1) - 1e-9).ceil().long())
        return (steps * distances.sign() + self.span).clamp(0, 2 * self.span - 1)
