"""Optimizers for ``--optimizer``, beside fairseq's own."""

from fairseq_posenc.optim import fused_adam  # noqa: F401
