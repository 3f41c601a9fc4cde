"""Choices that users write as a name, most of them with numbers: ``window:512``."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """`` (did you mean NAME?)`` for a word that is nearly one of ``known``, otherwise nothing."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {near[0]}?)" if near else ""


def named_numbers(text: str) -> tuple[str, list[float] | None]:
    """``name:1,2.5`` -> ("name", [1.0, 2.5]); no colon -> no numbers; None for what is no number."""
    name, colon, listed = text.partition(":")
    try:
        return name, [float(word) for word in listed.split(",")] if colon else []
    except ValueError:
        return name, None
