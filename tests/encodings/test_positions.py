"""Positions from padding."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from fairseq_posenc.encodings.positions import PADDING, token_positions


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(0, 4)), min_size=1, max_size=5))
def test_positions_count_tokens(rows):
    """Rows of (left padding, tokens, right padding): tokens are numbered from 0, wherever they are."""
    width = max(map(sum, rows))
    padding = torch.ones(len(rows), width, dtype=torch.bool)
    for row, (left, tokens, _) in enumerate(rows):
        padding[row, left : left + tokens] = False
    positions = token_positions(padding).expand(len(rows), -1)
    for row, (left, tokens, _) in enumerate(rows):
        assert positions[row, left : left + tokens].tolist() == list(range(tokens))
        if any(left for left, _, _ in rows):
            assert set(positions[row, :left].tolist()) <= {PADDING}


def test_one_row_without_left_padding():
    padding = torch.tensor([[False, False, True], [False, False, False]])
    assert token_positions(padding).tolist() == [[0, 1, 2]]
