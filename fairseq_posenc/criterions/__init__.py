"""Criteria for ``--criterion``, beside fairseq's own."""

from fairseq_posenc.criterions import cross_entropy  # noqa: F401
