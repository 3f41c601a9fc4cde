"""Dropout of an encoding's own."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


class Dropout(nn.Module):
    """Dropout with probability ``p`` while training and, where fairseq's ``--retain-dropout`` asks for it, afterwards.

    ``module_name`` is the name after ``--retain-dropout-modules``: that of the encoding's class, as fairseq has it for
    its own modules.

    Where a ``seed`` is set, every call with it drops the same: what layers share must not change when activation
    checkpointing computes them once more.
    """

    def __init__(self, p: float, module_name: str) -> None:
        super().__init__()
        self.p, self.module_name = p, module_name
        self.apply_during_inference = False
        self.seed: int | None = None

    def draw_seed(self) -> None:
        """Draw a new seed from PyTorch's default generator, which fairseq seeds at every update; none if not active."""
        if self.active:
            self.seed = int(torch.randint(2**62, ()))

    @property
    def active(self) -> bool:
        return self.p > 0 and (self.training or self.apply_during_inference)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.active or self.seed is None:
            return F.dropout(x, self.p, self.active)
        generator = torch.Generator(x.device).manual_seed(self.seed)
        return x * torch.empty_like(x).bernoulli_(1 - self.p, generator=generator) / (1 - self.p)

    def make_generation_fast_(
        self, name: str, retain_dropout: bool = False, retain_dropout_modules: list[str] | None = None, **kwargs: Any
    ) -> None:
        """What fairseq calls on every module that has it, before it generates."""
        wanted = retain_dropout_modules is None or self.module_name in retain_dropout_modules
        self.apply_during_inference = retain_dropout and wanted
