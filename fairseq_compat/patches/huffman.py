"""Data sets in Huffman codes (``--dataset-impl huffman``)."""

from fairseq_compat.overlay import Overlay
from fairseq_compat.registry import patch


def _rindex_is_gone(module):
    from bitarray import util

    return not hasattr(util, "rindex")


@patch(
    "bitarray_rindex",
    "fairseq.data.huffman.huffman_coder",
    fault="reading a Huffman-coded data set: AttributeError: module 'bitarray.util' has no attribute 'rindex'",
    since="bitarray 3.0",
    needed=_rindex_is_gone,
)
def bitarray_rindex(module):
    """Provide the name to this module only; it is now an option of the method ``index``."""
    module.util = Overlay(module.util, rindex=lambda bits, value: bits.index(value, right=True))
