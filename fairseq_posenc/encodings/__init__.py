"""Positional encodings, one a file, in pure PyTorch. Every module of this package is imported and registers itself."""

import importlib
import pkgutil

from fairseq_posenc.encodings.base import PositionEncoding, Stack
from fairseq_posenc.encodings.registry import encoding_class, encoding_names, register_encoding

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["PositionEncoding", "Stack", "encoding_class", "encoding_names", "register_encoding"]
