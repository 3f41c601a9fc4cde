"""Positions from padding."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from fairseq_posenc.encodings.positions import PADDING, Positions, find_padding, token_positions


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(0, 4)), min_size=1, max_size=5))
def test_positions_count_tokens(rows):
    """Rows of (left padding, tokens, right padding): tokens are numbered from 0, wherever they are."""
    width = max(map(sum, rows))
    padding = torch.ones(len(rows), width, dtype=torch.bool)
    for row, (left, tokens, _) in enumerate(rows):
        padding[row, left : left + tokens] = False
    padded, left_padded = find_padding(padding)
    assert padded == bool(padding.any()) and left_padded == any(left for left, _, _ in rows)
    positions = token_positions(padding, left_padded)
    index = positions.index.expand(len(rows), -1)
    for row, (left, tokens, _) in enumerate(rows):
        assert index[row, left : left + tokens].tolist() == list(range(tokens))
        if left_padded:
            assert set(index[row, :left].tolist()) <= {PADDING}
    assert positions.stop > int(index.max())
    # Nothing is known of them without a look that a look does not find.
    assert positions.first in (None, Positions.of(positions.index).first)


def test_one_row_without_left_padding():
    padding = torch.tensor([[False, False, True], [False, False, False]])
    positions = token_positions(padding, left_padded=False)
    assert positions.index.tolist() == [[0, 1, 2]] and (positions.first, positions.stop) == (0, 3)
    newest = positions.newest(2)
    assert newest.index.tolist() == [[1, 2]] and (newest.first, newest.stop) == (1, 3)


def test_what_a_look_finds():
    assert Positions.of(torch.tensor([[3, 4, 5]])).first == 3
    for index in ([[3, 5, 6]], [[0, 1], [0, 1]], [[-1, 0, 1]]):
        positions = Positions.of(torch.tensor(index))
        assert positions.first is None and positions.stop == max(max(row) for row in index) + 1
    assert Positions.of(torch.tensor([[0, 6, 2]])).longest_beyond(7) is None
    assert Positions.of(torch.tensor([[0, 6, 2]])).longest_beyond(6) == 7
    assert Positions(torch.tensor([[0, 1, 2]]), stop=9).longest_beyond(3) is None
