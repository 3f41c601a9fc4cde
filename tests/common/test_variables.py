"""What the scripts of the recipes know without importing PyTorch."""

from examples.common.variables import encodings
from fairseq_posenc.encodings import encoding_names


def test_the_encodings_are_those_of_the_package():
    assert encodings() == sorted(encoding_names())
