"""The one list of encodings: what is registered here has a flag value, architectures, tests and a table row."""

from collections.abc import Callable
from typing import TypeVar

from fairseq_posenc.encodings.base import PositionEncoding
from fairseq_posenc.errors import InputError
from fairseq_posenc.names import nearest

Encoding = TypeVar("Encoding", bound=PositionEncoding)

_ENCODINGS: dict[str, type[PositionEncoding]] = {}


def register_encoding(name: str) -> Callable[[type[Encoding]], type[Encoding]]:
    """Class decorator: register a PositionEncoding under ``name`` (lower case, words joined by hyphens)."""

    def register(encoding_class: type[Encoding]) -> type[Encoding]:
        if name in _ENCODINGS:
            raise ValueError(f"position encoding {name} is registered twice")
        encoding_class.name = name
        _ENCODINGS[name] = encoding_class
        return encoding_class

    return register


def encoding_names() -> list[str]:
    """All registered names, sorted."""
    return sorted(_ENCODINGS)


def encoding_class(name: str) -> type[PositionEncoding]:
    """The class registered under ``name``. Raises InputError that lists the known names and suggests the nearest."""
    if name not in _ENCODINGS:
        known = encoding_names()
        hint = nearest(str(name), known)
        raise InputError(f"unknown position encoding {name!r}{hint}; known encodings: {', '.join(known)}")
    return _ENCODINGS[name]
