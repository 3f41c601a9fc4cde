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
    assert encoding.embeds in (BEFORE_DROPOUT, AFTER_DROPOUT)


@pytest.mark.parametrize("name", encoding_names())
def test_every_option_has_a_flag_a_valid_default_and_help(name):
    encoding = encoding_class(name)
    for option in encoding.options().values():
        assert option.flag.startswith("--") and option.help
        option.check(option.default)
    for presets in encoding.size_defaults.values():
        assert set(presets) <= set(encoding.options())


def test_flags_of_different_encodings_do_not_collide():
    flags = [option.flag for name in encoding_names() for option in encoding_class(name).options().values()]
    assert len(flags) == len(set(flags))
