"""How often Python reads numbers out of tensors, for which a GPU must be waited for: never more than stock fairseq."""

import pytest
import torch

from fairseq_posenc.encodings import encoding_names
from tests.support.host_reads import reads
from tests.support.models import batch, build_small, build_small_lm, text


@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
@pytest.mark.parametrize("name", encoding_names())
def test_of_a_translation_model(name, left):
    """Two looks at two numbers, one for each side; stock fairseq has three."""
    model, inputs = build_small(name), batch(left_pad_source=left, left_pad_target=left)
    # Each look reads whether there is padding, and whether any of it comes first.
    assert reads(lambda: model(**inputs)).total() <= 2 * 2
    assert reads(lambda: model(**inputs)[0].sum().backward()).total() <= 2 * 2


@pytest.mark.parametrize("pattern", ["full", "window:3", "blockwise:4"])
@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
@pytest.mark.parametrize("name", encoding_names())
def test_of_a_language_model(name, left, pattern):
    model = build_small_lm(name, "--attention-pattern", pattern).eval()
    tokens, state = text(left=left), {}
    assert reads(lambda: model(tokens)).total() <= 2
    with torch.no_grad():
        model(tokens[:, :6], incremental_state=state)
        for length in range(7, tokens.size(1) + 1):
            assert reads(lambda: model(tokens[:, :length], incremental_state=state)).total() == 0  # noqa: B023


def test_steps_take_it_from_the_cache_that_there_is_no_padding():
    """Otherwise each step would look for padding, and mask what is not there."""
    decoder, tokens, state = build_small_lm("rope").eval().decoder, text(), {}
    with torch.no_grad():
        decoder(tokens[:, :6], incremental_state=state)
    _, positions, _, padding = decoder._new_tokens(tokens[:, :7], state, full_context=False)
    assert (positions.first, positions.stop, padding) == (6, 7, None)
