"""fairseq models with positional encodings. fairseq imports every module of this package for ``--user-dir``."""

# fairseq has no folder of its own for scorers, so they are registered with the models.
from fairseq_posenc.scoring import fairseq_scorers  # noqa: F401
