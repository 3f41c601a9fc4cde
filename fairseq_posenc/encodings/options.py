"""Options of encodings: declared once, known to the constructor, the command line, checkpoints and lists.

A constructor argument is declared by its own annotation, ``argument: Annotated[type, "help"] = default``. The type is
int, float, str, one of these or None (``Optional[float]``), or ``Literal["one", "other"]`` for a choice. A third entry
is the flag where it is not ``--ENCODING-ARGUMENT``. Which layers share an instance is no business of a constructor: see
Sharing.
"""

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Optional, Union, get_args, get_origin, get_type_hints

from fairseq_posenc.errors import InputError

#: Which part of a model one instance of an encoding serves: all of it, the encoder or the decoder, one layer, or the
#: first layer of the encoder or of the decoder, where the others have none.
MODEL = "model"
SIDE = "side"
LAYER = "layer"
FIRST = "first"

#: The type of an option -> what a value of it may be.
_KINDS: dict[type, type | tuple[type, ...]] = {int: int, float: (int, float), str: str}


@dataclass(frozen=True)
class Sharing:
    """An option that says what one instance serves; whoever builds a model acts on it.

    Args:
        name: of the option.
        help: one line.
        scopes: {choice: MODEL, SIDE, LAYER or FIRST}; the first choice is the default.
    """

    name: str
    help: str
    scopes: dict[str, str]


@dataclass(frozen=True)
class Option:
    """One option; its values are of ``type`` (int, float or str), and one of ``choices`` where there are any."""

    name: str
    flag: str
    type: type
    default: Any
    help: str
    choices: Optional[tuple[str, ...]] = None

    @property
    def attribute(self) -> str:
        """The name under which argparse and checkpoints keep the value: ``--posnet-dim`` is ``posnet_dim``."""
        return self.flag.lstrip("-").replace("-", "_")

    def check(self, value: Any) -> None:
        """Raise InputError for a value of another type, or that is no choice."""
        if value is None and self.default is None:
            return
        if isinstance(value, bool) or not isinstance(value, _KINDS[self.type]):
            raise InputError(f"{self.flag} must be of the type {self.type.__name__}, but is {value!r}")
        if self.choices and value not in self.choices:
            near = difflib.get_close_matches(str(value), self.choices, n=1, cutoff=0.5)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise InputError(f"{self.flag} must be one of {', '.join(self.choices)}, but is {value}{hint}")


def constructor_options(constructor: Callable[..., None], prefix: str) -> dict[str, Option]:
    """{argument: Option} for the arguments of a constructor after ``self`` and ``stack``.

    Raises:
        TypeError: an argument without a default, or without its type and help.
    """
    hints = get_type_hints(constructor, include_extras=True)
    _, _, *arguments = inspect.signature(constructor).parameters.values()
    return {argument.name: _option(argument, hints.get(argument.name), prefix) for argument in arguments}


def sharing_option(sharing: Sharing, prefix: str) -> Option:
    """The Option of a Sharing."""
    choices = tuple(sharing.scopes)
    return Option(sharing.name, _flag(prefix, sharing.name), str, choices[0], sharing.help, choices)


def _option(argument: inspect.Parameter, hint: Any, prefix: str) -> Option:
    # Python 3.10 makes Annotated[...] = None an Optional[Annotated[...]].
    hint = next((part for part in get_args(hint) if get_origin(part) is Annotated), hint)
    if get_origin(hint) is not Annotated or argument.default is inspect.Parameter.empty:
        raise TypeError(f'write the option {argument.name} as {argument.name}: Annotated[type, "help"] = default')
    kind, text, *flag = get_args(hint)
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    choices = get_args(kind) if get_origin(kind) is Literal else None
    name = flag[0] if flag else _flag(prefix, argument.name)
    return Option(argument.name, name, str if choices else kind, argument.default, text, choices)


def _flag(prefix: str, name: str) -> str:
    return f"--{prefix}-{name.replace('_', '-')}"
