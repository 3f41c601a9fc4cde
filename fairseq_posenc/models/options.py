"""From command-line flags to encodings."""

import argparse
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import Any

from fairseq_posenc.attention.patterns import HELP as PATTERN_HELP
from fairseq_posenc.attention.patterns import attention_pattern
from fairseq_posenc.attention.scales import HELP as SCALE_HELP
from fairseq_posenc.attention.scales import PLAIN, attention_scale
from fairseq_posenc.encodings import encoding_class, encoding_names
from fairseq_posenc.encodings.distances import HELP as DISTANCE_HELP
from fairseq_posenc.encodings.distances import Distance, distance_named
from fairseq_posenc.encodings.numbering import HELP as NUMBERING_HELP
from fairseq_posenc.encodings.numbering import INDEX, Numbering, numbering
from fairseq_posenc.errors import InputError


def name_of(parse: Callable[[str], Any]) -> Callable[[str], str]:
    """An argparse type: the name of what ``parse`` makes of a value, or its InputError in argparse's words."""

    def convert(value: str) -> str:
        try:
            return str(parse(value))
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


#: argparse type of ``--position-encoding`` and its per-side forms.
encoding_name = name_of(lambda name: encoding_class(name).name)


def add_encoding_flags(parser: ArgumentParser, sides: Sequence[str] = ()) -> None:
    """Add ``--position-encoding``, its form for each of ``sides``, one flag per option of an encoding, and
    ``--positions``.

    None has a default: what a model uses is settled by ``settle_options``.
    """
    known = ", ".join(encoding_names())
    parser.add_argument(
        "--position-encoding",
        type=encoding_name,
        metavar="NAME",
        help=f"positional encoding of {' and '.join(sides) or 'the model'}: {known} (default: sinusoidal)",
    )
    for side in sides:
        parser.add_argument(
            f"--{side}-position-encoding",
            type=encoding_name,
            metavar="NAME",
            help=f"positional encoding of the {side} (default: the value of --position-encoding)",
        )
    parser.add_argument(
        "--positions",
        type=name_of(numbering),
        metavar="NUMBERS",
        help=f"numbers of the positions that the encoding sees: {NUMBERING_HELP} (default: index)",
    )
    parser.add_argument(
        "--distance",
        type=name_of(lambda text: distance_named(text) or PLAIN),
        metavar="DISTANCE",
        help=f"distance in an encoding of distances: {DISTANCE_HELP} (default: {PLAIN})",
    )
    parser.add_argument(
        "--attention-scale",
        type=name_of(lambda text: attention_scale(text) or PLAIN),
        metavar="FACTOR",
        help=f"factor of the products of queries and keys in self-attention: {SCALE_HELP} (default: {PLAIN})",
    )
    for name in encoding_names():
        for option in encoding_class(name).options().values():
            parser.add_argument(
                option.flag,
                type=option.type,
                choices=option.choices,
                metavar=None if option.choices else option.type.__name__.upper(),
                help=f"{name}: {option.help}" + ("" if option.default is None else f" (default: {option.default})"),
            )


def add_pattern_flags(parser: ArgumentParser) -> None:
    """Add the flags of a language model's attention."""
    parser.add_argument(
        "--attention-pattern",
        type=name_of(attention_pattern),
        metavar="PATTERN",
        help=f"which tokens a token attends to: {PATTERN_HELP} (default: full)",
    )
    parser.add_argument(
        "--cache-size",
        type=int,
        metavar="N",
        help="in generation, attend only to the newest N tokens (default: all tokens of the attention pattern)",
    )


def settle_options(args: Namespace, used: set[str]) -> None:
    """Write the value of every option of the ``used`` encodings into ``args``, so that checkpoints record them all.

    Raises:
        InputError: an option of an encoding that is not used was given, or a value is of another type, as from
            ``--model-overrides``, or not among the choices.
    """
    wanted = {option.attribute for name in used for option in encoding_class(name).options().values()}
    for name in encoding_names():
        for option in encoding_class(name).options().values():
            given = getattr(args, option.attribute, None)
            if option.attribute not in wanted:
                if given is not None:
                    raise InputError(
                        f"{option.flag} {given} is an option of {name}, but this model uses {', '.join(sorted(used))}; "
                        f"leave it out, or use --position-encoding {name}"
                    )
            elif given is None:
                setattr(args, option.attribute, option.default)
            else:
                option.check(given)


def settle_numbering(args: Namespace) -> Numbering:
    """Write ``--positions`` into ``args``; return the Numbering. Raises InputError on bad values."""
    chosen = numbering(getattr(args, "positions", None) or INDEX)
    args.positions = str(chosen)
    return chosen


def settle_distance(args: Namespace) -> Distance | None:
    """Write ``--distance`` into ``args``; return it. Raises InputError on bad values."""
    distance = distance_named(getattr(args, "distance", None))
    args.distance = str(distance or PLAIN)
    return distance


def settle_scale(args: Namespace) -> None:
    """Write ``--attention-scale`` into ``args``. Raises InputError on bad values."""
    args.attention_scale = str(attention_scale(getattr(args, "attention_scale", None)) or PLAIN)


def constructor_options(args: Any, name: str) -> dict[str, Any]:
    """Constructor arguments of an encoding, read from settled ``args``."""
    options = encoding_class(name).constructor_options().items()
    return {argument: getattr(args, option.attribute) for argument, option in options}


def encoding_scope(args: Any, name: str) -> str:
    """What one instance of an encoding serves (see encodings/options.py), read from settled ``args``."""
    options = encoding_class(name).options().items()
    return encoding_class(name).scope({argument: getattr(args, option.attribute) for argument, option in options})
