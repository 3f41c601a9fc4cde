"""RoPE: queries and keys turned by their positions."""

from typing import Annotated, Literal, Optional

import torch

from fairseq_posenc.encodings.base import ANY, CONSECUTIVE, PositionEncoding, Stack
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
from fairseq_posenc.encodings.positions import Idx
from fairseq_posenc.encodings.registry import register_encoding
from fairseq_posenc.encodings.rotation import Rotation
from fairseq_posenc.errors import InputError


@register_encoding("rope")
class RoPE(PositionEncoding):
    """``score = (R_i q_i) (R_j k_j)``, R_n a rotation by n base^(-2i/D) in the plane of dimensions 2i and 2i + 1
    (Su et al. 2021, Eq 14-16), so that the score depends on i - j.

    ``fraction`` of the dimensions of a head, the first ones, are turned, the others keep no position. The other options
    change the frequencies base^(-2i/D), in training or, by ``--model-overrides``, of a trained model: see Frequencies.
    There are no parameters, so that checkpoints are the same.

    Where ``dynamic-ntk`` and ``longrope`` depend on the length of a text, this is the longest one of its batch, as in
    Hugging Face's code.

    With ``distance`` a pair has one of two rotations (ReRoPE, Su 2023; Self-Extend, Jin et al. 2024): keys are then
    cached without.

    Raises:
        InputError: the dimensions to turn do not pair up, or Frequencies refuses the options.
    """

    summary = "rotation of queries and keys by their positions"
    source = "Su et al. 2021 (RoFormer), Eq 14-16"
    translation_invariant = True
    numbers = ANY
    takes_distance = True

    def __init__(
        self,
        stack: Stack,
        base: Annotated[float, "base of the geometric series of frequencies"] = 10000.0,
        fraction: Annotated[float, "share of the dimensions of a head that are turned"] = 1.0,
        keep: Annotated[
            float, "p-RoPE: share of the frequencies that are kept, the highest ones; others turn nothing"
        ] = 1.0,
        max_wavelength: Annotated[
            Optional[float],
            "HoPE: frequencies of a longer wavelength, in tokens, turn nothing (the length of training)",
        ] = None,
        scaling: Annotated[
            Literal["none", "linear", "ntk", "dynamic-ntk", "yarn", "llama3", "longrope"],
            "method that changes the frequencies for texts longer than those of training",
        ] = "none",
        scaling_factor: ScalingFactor = None,
        original_length: OriginalLength = None,
        attention_factor: AttentionFactor = None,
        beta_fast: BetaFast = None,
        beta_slow: BetaSlow = None,
        low_freq_factor: LowFreqFactor = None,
        high_freq_factor: HighFreqFactor = None,
        short_factor: Annotated[
            Optional[str], "longrope: divisor of each frequency in texts up to the original length, as 1,1.5,.."
        ] = None,
        long_factor: Annotated[Optional[str], "longrope: the same in longer texts"] = None,
    ) -> None:
        super().__init__(stack)
        head_dim = stack.model_dim // stack.heads
        dim = fraction * head_dim
        if not 0 < fraction <= 1 or dim % 2:
            raise InputError(
                f"--rope-fraction {fraction} of the head dimension {head_dim} is {dim:g}, which does not split into "
                "pairs; choose a fraction or a number of heads that makes it even"
            )
        frequencies = Frequencies(
            int(dim),
            base,
            "--rope",
            scaling,
            keep,
            max_wavelength,
            scaling_factor=scaling_factor,
            original_length=original_length,
            attention_factor=attention_factor,
            beta_fast=beta_fast,
            beta_slow=beta_slow,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
            short_factor=short_factor,
            long_factor=long_factor,
        )
        self.rotation = Rotation(frequencies)
        if frequencies.by_length:  # the length of a text, which other numbers do not tell
            self.numbers, self.takes_distance = CONSECUTIVE, False

    @property
    def counts_from_start(self) -> bool:
        return self.distance is not None and self.distance.counts_from_start

    @property
    def plain_products(self) -> bool:
        return self.distance is None

    def rotate(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> tuple[torch.Tensor, torch.Tensor]:
        if self.distance is not None:  # each pair has a rotation of two: keys are cached without
            return q, k
        return self.rotation(q, q_idx), self.rotation(k, kv_idx)

    def scores(self, q: torch.Tensor, k: torch.Tensor, q_idx: Idx, kv_idx: Idx) -> torch.Tensor:
        if self.distance is None:
            return super().scores(q, k, q_idx, kv_idx)

        def at(queries: Idx, keys: Idx, ahead: bool = False) -> torch.Tensor:
            return self.rotation(q, queries) @ self.rotation(k, keys).transpose(-2, -1)

        return replaced(at(q_idx, kv_idx), at, self.distance, q_idx, kv_idx, self.stack.causal)
