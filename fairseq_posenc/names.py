"""Choices that users write as a name, most of them with numbers: ``window:512``."""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any, Optional

from fairseq_posenc.errors import InputError


def nearest(name: str, known: Iterable[str]) -> str:
    """`` (did you mean NAME?)`` for a word that is nearly one of ``known``, otherwise nothing."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {near[0]}?)" if near else ""


class Choices:
    """What a flag takes: the names of classes, with numbers for their constructors.

    A class says in ``form`` how users write it, such as ``shift:K``, ``group:W,G``, or ``continuous[:S,E,R]`` where
    numbers may be left out; in ``help`` what it means; and in ``whole`` whether its numbers are whole.

    Args:
        flag: for errors.
        classes: in the order of the help.
        plain: the name for none of them, if there is one.

    Attributes:
        classes: {name: class}.
        names: all of them, ``plain`` first.
        help: the forms and what they mean.
    """

    def __init__(self, flag: str, classes: Sequence[type[Any]], plain: Optional[str] = None) -> None:
        self.flag, self.plain = flag, plain
        self.classes = {re.split(r"[\[:]", kind.form)[0]: kind for kind in classes}
        self.names = [*([] if plain is None else [plain]), *self.classes]
        self._forms = ", ".join([*([] if plain is None else [plain]), *(kind.form for kind in classes)])
        self.help = "; ".join(f"{kind.form} ({kind.help})" for kind in classes)

    def parse(self, text: Any) -> Any:
        """What ``text``, or a choice itself, names; None: ``plain``, or nothing.

        Raises:
            InputError: another name, another count of numbers, or a number out of range.
        """
        if text is None or text == self.plain:
            return None
        name, colon, listed = str(text).partition(":")
        if name not in self.names:
            raise InputError(f"{self.flag} must be one of {self._forms}, but is {text}{nearest(name, self.names)}")
        kind = self.classes.get(name)
        if kind is None:
            raise InputError(f"{self.flag} {text}: write {name}")
        words = listed.split(",") if colon else []
        try:
            numbers = [(_whole if kind.whole else float)(word) for word in words]
        except ValueError:
            numbers = None
        most = kind.form.count(":") + kind.form.count(",")
        if numbers is None or not (len(numbers) == most or ("[" in kind.form and len(numbers) < most)):
            raise InputError(f"{self.flag} {text}: write {kind.form}, each letter a {'whole ' * kind.whole}number")
        return kind(*numbers)


def _whole(word: str) -> int:
    """The whole number of a word such as 5 or 5.0."""
    number = float(word)
    if not number.is_integer():
        raise ValueError
    return int(number)
