"""xPos: rotation with a decay of its own for every frequency."""

import math
from contextlib import nullcontext
from typing import Annotated, Literal

import torch

from fairseq_posenc.encodings.base import ANY, PositionEncoding, Stack
from fairseq_posenc.encodings.distances import replaced
from fairseq_posenc.encodings.frequencies import (
    AttentionFactor,
    BetaFast,
    BetaSlow,
    Frequencies,
    HighFreqFactor,
    LowFreqFactor,
    OriginalLength,
    ScalingFactor,
)
from fairseq_posenc.encodings.limits import check_number
from fairseq_posenc.encodings.positions import Idx, index_of
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.encodings.rotation import Rotation
from fairseq_posenc.errors import InputError

#: The least and the greatest gamma and B: beyond them, every pair decays at once, or none ever.
GAMMAS = 1e-6, 1e6
SCALE_BASES = 1e-2, 1e12


@register_encoding("xpos")
class XPos(PositionEncoding):
    """``score = sum over pairs i of zeta_i^((n - m)/B) (R_n q_n)_i (R_m k_m)_i`` (Sun et al. 2023, Eq 12, Algorithm 1),
    with zeta_i = (2i/D + gamma) / (1 + gamma) for the pair of dimensions 2i and 2i + 1, and R as in RoPE.

    - Decoder: queries are scaled by zeta^((n - c)/B), keys by zeta^(-(m - c)/B). Any c gives the same scores; the
      middle of the keys keeps both factors in range. Cached keys are not scaled, so that c may move. Where the factors
      alone would take half of the exponents that a dtype has (fp16: from 4,500 keys at once), scaled queries and keys
      have the next wider one.
    - Encoder: that form would grow without bound towards the future. Here it decays in both directions, as
      zeta^(|n - m|/B), which the paper does not define. It is exact: the past and the future each factorise, and the
      sign of the distance chooses between their products.

    Ablations (Table 4): ``rotation="off"`` (theta = 0), ``decay="none"`` (zeta = 1, which is RoPE; the paper prints
    "zeta = 0"), ``decay="scalar"`` (zeta = gamma/(1 + gamma) for all dimensions).

    ``scaling`` changes the frequencies of R as in RoPE (see Frequencies), not the decay: with ``linear``, B times the
    scaling factor stretches that too. Methods that depend on the length of a text are left to RoPE.

    ``distance`` replaces the distance in the rotation and in the decay.

    Raises:
        InputError: an odd head dimension, a number out of its range, more keys at once than factors in fp64 allow, or
            Frequencies refuses the options.
    """

    summary = "rotation with a decay by distance for every frequency"
    source = "Sun et al. 2023 (ACL), Eq 12 and Algorithm 1"
    translation_invariant = True
    numbers = ANY
    takes_distance = True

    def __init__(
        self,
        stack: Stack,
        gamma: Annotated[float, "gamma: larger values decay less"] = 0.4,
        scale_base: Annotated[float, "B: the distance over which zeta acts once"] = 512.0,
        base: Annotated[float, "base of the geometric series of frequencies"] = 10000.0,
        rotation: Annotated[Literal["on", "off"], "off: the ablation without rotation"] = "on",
        decay: Annotated[
            Literal["dimension", "scalar", "none"],
            "decay by dimension; ablations: one number for all dimensions, or none",
        ] = "dimension",
        scaling: Annotated[
            Literal["none", "linear", "ntk", "yarn", "llama3"],
            "method that changes the frequencies for texts longer than those of training",
        ] = "none",
        scaling_factor: ScalingFactor = None,
        original_length: OriginalLength = None,
        attention_factor: AttentionFactor = None,
        beta_fast: BetaFast = None,
        beta_slow: BetaSlow = None,
        low_freq_factor: LowFreqFactor = None,
        high_freq_factor: HighFreqFactor = None,
    ) -> None:
        super().__init__(stack)
        check_number("--xpos-gamma", gamma, *GAMMAS)
        check_number("--xpos-scale-base", scale_base, *SCALE_BASES)
        head_dim = stack.model_dim // stack.heads
        if head_dim % 2:
            raise InputError(
                f"xpos turns pairs of dimensions, but the head dimension is {head_dim}; choose a number of heads that "
                "makes it even"
            )
        frequencies = Frequencies(
            head_dim,
            base,
            "--xpos",
            scaling,
            scaling_factor=scaling_factor,
            original_length=original_length,
            attention_factor=attention_factor,
            beta_fast=beta_fast,
            beta_slow=beta_slow,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
        )
        if rotation == "off" and scaling != "none":
            raise InputError(f"--xpos-scaling {scaling} contradicts --xpos-rotation off; leave one of them out")
        self.rotation = Rotation(frequencies) if rotation == "on" else None
        zeta = (torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim + gamma) / (1 + gamma)
        if decay == "scalar":
            zeta = torch.full_like(zeta, gamma / (1 + gamma))
        self.decays = decay != "none"
        # (D,): the exponent of a step of one position.
        self.keep_exact("log_decay", zeta.log().repeat_interleave(2) / scale_base)
        self.steepest = -zeta.log().min().item() / scale_base

    @property
    def counts_from_start(self) -> bool:
        return self.distance is not None and self.distance.counts_from_start

    @property
    def plain_products(self) -> bool:
        return self.distance is None and (self.stack.causal or not self.decays)

    def rotate(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> tuple[torch.Tensor, torch.Tensor]:
        if self.distance is not None:  # each pair has a rotation of two: keys are cached without
            return q, k
        return self._rotated(q, k, q_idx, kv_idx)

    def _rotated(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> tuple[torch.Tensor, torch.Tensor]:
        if self.rotation is None:
            return q, k
        return self.rotation(q, q_idx), self.rotation(k, kv_idx)

    def decay(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> tuple[torch.Tensor, torch.Tensor]:
        if not (self.stack.causal and self.decays) or self.distance is not None:
            return q, k
        middle, dtype = self._middle(kv_idx, q.dtype)
        return self._scaled(q, q_idx, middle, 1, dtype), self._scaled(k, kv_idx, middle, -1, dtype)

    def scores(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> torch.Tensor:
        if self.plain_products:
            return super().scores(q, k, q_idx, kv_idx)
        if self.distance is None:
            return self._decayed(q, k, q_idx, kv_idx)

        def far(queries: Idx, keys: Idx, ahead: bool) -> torch.Tensor:
            return self._product(*self._rotated(q, k, queries, keys), queries, keys, ahead)

        near = self._decayed(*self._rotated(q, k, q_idx, kv_idx), q_idx, kv_idx)
        return replaced(near, far, self.distance, q_idx, kv_idx, self.stack.causal)

    def _decayed(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> torch.Tensor:
        """Products of rotated queries and keys, with their decay."""
        past = self._product(q, k, q_idx, kv_idx, ahead=False)
        if self.stack.causal or not self.decays:
            return past
        q_positions, k_positions = (index_of(idx, q.device) for idx in (q_idx, kv_idx))
        earlier = (k_positions.unsqueeze(1) <= q_positions.unsqueeze(2)).unsqueeze(1)
        return torch.where(earlier, past, self._product(q, k, q_idx, kv_idx, ahead=True))

    def _product(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx, ahead: bool) -> torch.Tensor:
        """The same for keys that are all ahead, or that are not."""
        if not self.decays:
            return q @ k.transpose(-2, -1)
        sign, (middle, dtype) = -1 if ahead else 1, self._middle(kv_idx, q.dtype)
        # Autocast would cast wider numbers down again.
        with nullcontext() if dtype == q.dtype else torch.autocast(q.device.type, enabled=False):
            queries, keys = self._scaled(q, q_idx, middle, sign, dtype), self._scaled(k, kv_idx, middle, -sign, dtype)
            return queries @ keys.transpose(-2, -1)

    def _middle(self, idx: Idx, dtype: torch.dtype) -> tuple[float, torch.dtype]:
        """The middle of these indices, and ``dtype`` or the next wider one that has room for the factors and for x."""
        start = idx.start if isinstance(idx, range) else 0
        largest = self.steepest * (idx.stop - 1 - start) / 2
        if largest > math.log(torch.finfo(torch.float64).max):
            raise InputError(
                f"xpos: the decay over {idx.stop - start} tokens leaves the range of fp64; give shorter texts, or "
                "a larger --xpos-scale-base or --xpos-gamma"
            )
        wider = (torch.promote_types(dtype, other) for other in (dtype, torch.float32, torch.float64))
        fits = (other for other in wider if largest <= math.log(torch.finfo(other).max) / 2)
        return (start + idx.stop - 1) / 2, next(fits, torch.float64)

    def _scaled(self, x: torch.Tensor, idx: Idx, middle: float, sign: int, dtype: torch.dtype) -> torch.Tensor:
        """x (B, H, T, D) times zeta^(sign (column - middle) / B), in ``dtype``."""
        positions = index_of(idx, x.device).double() - middle
        factors = torch.exp(sign * positions[:, None, :, None] * self.exact("log_decay", x.device))
        return (x * factors.to(torch.promote_types(dtype, torch.float32))).to(dtype)
