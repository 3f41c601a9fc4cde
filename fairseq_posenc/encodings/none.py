"""No position information: the papers' "w/o PE"."""

from fairseq_posenc.encodings.base import ANY, PositionEncoding
from fairseq_posenc.encodings.registry import register_encoding


@register_encoding("none")
class NoEncoding(PositionEncoding):
    """Leaves everything as it is.

    An encoder without positions sees a bag of words. A decoder still learns some order from the causal mask, as the
    number of visible keys grows with the position.
    """

    summary = "no position information (the decoder still has its causal mask)"
    source = "baseline 'w/o PE' of Zhang et al. 2023, Table 1"
    translation_invariant = True
    numbers = ANY
