"""fairseq models with positional encodings. fairseq imports every module of this package for ``--user-dir``."""

# fairseq looks for tasks and models alone: the rest is registered with the models.
from fairseq_posenc import criterions, optim  # noqa: F401
from fairseq_posenc.denormals import flush_denormals
from fairseq_posenc.generation import choice  # noqa: F401
from fairseq_posenc.scoring import fairseq_scorers  # noqa: F401

# Now, because the threads of PyTorch's products begin with the first of them.
flush_denormals()
