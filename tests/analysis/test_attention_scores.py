"""The scores of every layer, against the naive formulas of the encodings and the weights of the model itself."""

from dataclasses import replace

import pytest
import torch

from fairseq_posenc.analysis.attention_scores import attention_scores, sums_by_distance
from fairseq_posenc.analysis.language_model import load_model, read_text
from fairseq_posenc.attention import computation
from fairseq_posenc.attention.self_attention import CAUSAL
from fairseq_posenc.encodings import encoding_names
from tests.support.attention_scores import PATTERNS, naive_scores

LENGTH = 11


@pytest.mark.parametrize("encoding", encoding_names())
@pytest.mark.parametrize("pattern", PATTERNS)
@torch.no_grad()
def test_scores_are_the_formulas(encoding, pattern, lm_checkpoint, lm_data, monkeypatch):
    text = read_text(lm_data, "test")
    loaded, inputs = load_model(lm_checkpoint(encoding), text), text.inputs[None, :LENGTH]
    loaded.use_pattern(pattern)
    expected = naive_scores(loaded, inputs, PATTERNS[pattern])
    for size in (2**24, 2 * 3 * LENGTH):  # all queries at once, and three at a time
        monkeypatch.setattr(computation, "CPU", replace(computation.CPU, slice=size))
        found = {}
        for part in attention_scores(loaded, inputs):
            assert part.q_idx.stop == part.kv_idx.stop
            for row, i in enumerate(part.q_idx):
                for column, j in enumerate(part.kv_idx):
                    if part.visible[row, column]:
                        found[part.layer, i, j] = part.scores[0, :, row, column].double()
        assert found.keys() == expected.keys()
        for place, scores in expected.items():
            torch.testing.assert_close(found[place], scores, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("pattern", [*PATTERNS, "sinks:2,window:3"])
@torch.no_grad()
def test_weights_are_those_of_the_model(pattern, lm_checkpoint, lm_data):
    text = read_text(lm_data, "test")
    loaded, inputs = load_model(lm_checkpoint("xpos"), text), text.inputs[: 2 * LENGTH].view(2, LENGTH)
    loaded.use_pattern(pattern)
    parts = list(attention_scores(loaded, inputs))
    assert [part.layer for part in parts] == [0, 1]
    read = []
    for attention in loaded.attentions():
        attention.register_forward_pre_hook(lambda module, args, named: read.append(named["query"]), with_kwargs=True)
    loaded.model(inputs, features_only=True)
    for part, attention, x in zip(parts, loaded.attentions(), read.copy()):
        _, weights = attention(query=x, need_head_weights=True, attn_mask=CAUSAL)
        torch.testing.assert_close(part.weights(), weights.transpose(0, 1), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 5), (4, 4), (3, 7)])
def test_sums_by_distance(queries, keys):
    values = torch.randn(2, queries, keys, generator=torch.Generator().manual_seed(0))
    expected = torch.zeros(2, keys)
    for row in range(queries):
        for key in range(keys):
            distance = keys - queries + row - key
            if distance >= 0:
                expected[:, distance] += values[:, row, key]
    torch.testing.assert_close(sums_by_distance(values), expected)
