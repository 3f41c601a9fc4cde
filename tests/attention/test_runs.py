"""Columns of keys: their number, and how far back a pattern needs them."""

import pytest
import torch

from fairseq_posenc.attention.patterns import attention_pattern
from fairseq_posenc.attention.runs import Runs, column_tensor, count_of


@pytest.mark.parametrize("columns", [range(3, 7), range(0), Runs(2, range(5, 9)), Runs(0, range(1, 2))], ids=str)
def test_as_many_as_there_are(columns):
    found = column_tensor(columns, torch.device("cpu")).tolist()
    assert count_of(columns) == len(found) == len(set(found))


@pytest.mark.parametrize("name", ["window:1", "window:5", "blockwise:2", "blockwise:8", "sinks:2,window:4"])
def test_left_context_reaches_the_first_visible_key_and_no_farther(name):
    pattern, length = attention_pattern(name), 40
    q, k = torch.arange(length).unsqueeze(1), torch.arange(length)
    seen = pattern.visible(q, k)
    if pattern.sinks:
        seen &= k >= pattern.sinks
    farthest = int(torch.where(seen, q - k, 0).max())
    assert pattern.left_context == farthest
