"""How encodings declare their options, and what a constructor does with values that are none."""

from __future__ import annotations

import copy
import pickle
from typing import Annotated, Literal

import pytest

from fairseq_posenc.encodings import PositionEncoding, Stack, encoding_class, encoding_names
from fairseq_posenc.encodings.options import FIRST, LAYER, SIDE, Option, Sharing
from fairseq_posenc.errors import InputError

STACK = Stack(model_dim=16, heads=2)


class Example(PositionEncoding):
    """Annotations are text here, as ``from __future__ import annotations`` makes them."""

    name = "example"
    sharing = Sharing("layers", "which layers", {"first": FIRST, "all": SIDE, "each": LAYER})

    def __init__(
        self,
        stack,
        width: Annotated[int, "how wide"] = 4,
        start: Annotated[float | None, "where it starts", "--example-from"] = None,
        end_form: Annotated[Literal["open", "closed"], "how it ends"] = "open",
    ):
        super().__init__(stack)
        self.width, self.start, self.end_form = width, start, end_form


def test_options_are_read_from_the_constructor():
    assert Example.constructor_options() == {
        "width": Option("width", "--example-width", int, 4, "how wide"),
        "start": Option("start", "--example-from", float, None, "where it starts"),
        "end_form": Option("end_form", "--example-end-form", str, "open", "how it ends", ("open", "closed")),
    }
    sharing = Option("layers", "--example-layers", str, "first", "which layers", ("first", "all", "each"))
    assert Example.options() == {**Example.constructor_options(), "layers": sharing}
    assert [Example.scope({"layers": choice}) for choice in sharing.choices] == [FIRST, SIDE, LAYER]


def test_good_values_arrive():
    made = Example(STACK, 8, start=2, end_form="closed")
    assert (made.width, made.start, made.end_form) == (8, 2, "closed")
    assert Example(stack=STACK).width == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 1.5}, "--example-width must be of the type int, but is 1.5"),
        ({"width": True}, "--example-width must be of the type int, but is True"),
        ({"width": None}, "--example-width must be of the type int, but is None"),
        ({"start": "0"}, "--example-from must be of the type float, but is '0'"),
        ({"end_form": "half"}, "--example-end-form must be one of open, closed, but is half"),
    ],
)
def test_other_values_are_one_line(options, message):
    with pytest.raises(InputError, match=message):
        Example(STACK, **options)


@pytest.mark.parametrize("name", encoding_names())
def test_what_the_builder_of_a_model_acts_on_is_no_argument(name):
    encoding = encoding_class(name)
    for option in set(encoding.options()) - set(encoding.constructor_options()):
        with pytest.raises(TypeError, match=option):
            encoding(STACK, **{option: encoding.options()[option].default})


def test_copies_need_no_arguments():
    made = Example(STACK, width=8)
    assert copy.deepcopy(made).width == pickle.loads(pickle.dumps(made)).width == 8


@pytest.mark.parametrize("annotation", [int, "int", None])
def test_options_without_help_are_an_error_of_their_author(annotation):
    class Bare(PositionEncoding):
        def __init__(self, stack, width=4):
            super().__init__(stack)

    if annotation is not None:
        Bare.__init__.__annotations__["width"] = annotation
    with pytest.raises(TypeError, match="write the option width as width: Annotated"):
        Bare.constructor_options()
