"""Positional encodings for fairseq: translation and language models, one flag per encoding.

Load it into the stock commands with ``--user-dir fairseq_posenc``. This module imports nothing, so that
``fairseq_posenc.encodings`` can be used without fairseq.
"""

__version__ = "0.1.0"
