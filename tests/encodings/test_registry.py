"""The registry, and what encodings say about themselves."""

import pytest

from fairseq_posenc.encodings import PositionEncoding, encoding_class, encoding_names, register_encoding
from fairseq_posenc.encodings.base import AFTER_DROPOUT, BEFORE_DROPOUT
from fairseq_posenc.errors import InputError


def test_unknown_name_lists_known_and_suggests_nearest():
    with pytest.raises(InputError, match="did you mean sinusoidal.*learned") as error:
        encoding_class("sinusiodal")
    assert "\n" not in str(error.value)


def test_no_name_twice():
    with pytest.raises(ValueError, match="twice"):
        register_encoding("none")(type("Second", (PositionEncoding,), {}))
    assert encoding_class("none").__name__ == "NoEncoding"


@pytest.mark.parametrize("name", encoding_names())
def test_facts_are_complete(name):
    encoding = encoding_class(name)
    assert encoding.name == name == name.lower()
    assert encoding.summary and encoding.source and encoding.__doc__
    assert isinstance(encoding.translation_invariant, bool)
    assert isinstance(encoding.causal_only, bool)
    assert encoding.embeds in (BEFORE_DROPOUT, AFTER_DROPOUT)


@pytest.mark.parametrize("name", encoding_names())
def test_every_option_has_a_flag_with_default_and_help(name):
    encoding = encoding_class(name)
    for argument, default in encoding.default_options().items():
        flag = encoding.flags[argument]
        assert flag.name.startswith("--") and flag.help
        assert flag.choices is None or default in flag.choices
    for presets in encoding.size_defaults.values():
        assert set(presets) <= set(encoding.flags)


def test_flags_of_different_encodings_do_not_collide():
    flags = [flag.name for name in encoding_names() for flag in encoding_class(name).flags.values()]
    assert len(flags) == len(set(flags))
