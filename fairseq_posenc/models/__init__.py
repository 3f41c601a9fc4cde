"""fairseq models with positional encodings. fairseq imports every module of this package for ``--user-dir``."""
