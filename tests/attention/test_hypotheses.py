"""Which keys belong to a hypothesis, against the tokens that it was made of."""

import pytest
import torch

from fairseq_posenc.attention.hypotheses import Ancestors
from fairseq_posenc.generation.generator import FastGenerator
from fairseq_posenc.models import decoder as decoder_module
from fairseq_posenc.models.decoder import Decoder
from tests.support.generation import assert_as_stock, language_model, prefixes, sentences, translator

#: Flags of a model, and whether its hypotheses leave their keys where they are.
MODELS = {
    "none": ((), True),
    "sinusoidal": (("--positions", "scale:0.5"), False),
    "rope": (("--attention-scale", "log-n:4"), True),
    "rope, distances": (("--distance", "clamp:3"), False),
    "rope, random positions": (("--positions", "random:64"), False),
    "xpos": (("--attention-scale", "ssmax:4"), True),
    "t5": (("--distance", "group:4,2"), True),
    "alibi": (("--distance", "clamp:3"), True),
    "fire": ((), True),
    "forgetting": ((), True),
    "posnet-attn": ((), True),
    "shaw": ((), False),
    "cope": ((), False),
}


def test_own_keys_are_those_of_the_path():
    """Three sentences, two of which remain, in five steps of two and then three hypotheses."""
    torch.manual_seed(1)
    ancestors = Ancestors(batch=3, length=2, device=torch.device("cpu"))
    written = [[(0, sentence), (1, sentence)] for sentence in range(3)]  # of each sentence, by place: (column, token)
    paths = [list(of_sentence) for of_sentence in written]
    token = 100
    for step, width in enumerate((2, 2, 3, 3, 3)):
        before, remaining = ancestors.width, [0, 2] if step == 3 else list(range(ancestors.batch))
        rows = [s * before + int(torch.randint(before, ())) for s in remaining for _ in range(width)]
        paths, written = [list(paths[row]) for row in rows], [written[s] for s in remaining]
        ancestors.reorder(torch.tensor(rows), len(remaining))
        ancestors.extend()
        for row, path in enumerate(paths):
            path.append((2 + step, token + row))
            written[row // width].append((2 + step, token + row))
        token += 100
        assert (ancestors.width, ancestors.length) == (width, 3 + step)
        columns = ancestors.columns.tolist()
        for row, path in enumerate(paths):
            places = ancestors.own[row].nonzero().flatten().tolist()
            of_sentence = written[row // width]
            assert [of_sentence[place] for place in places] == path
            assert [columns[place] for place in places] == [column for column, _ in path]
            assert of_sentence[ancestors.before[row]] == path[-2] and of_sentence[ancestors.newest[row]] == path[-1]


@pytest.fixture
def shared(monkeypatch):
    """Whether hypotheses share the keys of their sentence, of each model that has generated."""
    found, reorder = [], Decoder.reorder_hypotheses

    def watched(self, state, rows, kept):
        reorder(self, state, rows, kept)
        found.append(self._ancestors(state) is not None)

    monkeypatch.setattr(Decoder, "reorder_hypotheses", watched)
    return found


@pytest.mark.parametrize("beam", [2, 5])
@pytest.mark.parametrize("name", MODELS)
def test_hypotheses_are_those_of_stock(name, beam, shared):
    flags, shares = MODELS[name]
    model = translator(name.partition(",")[0], *flags)
    if any("random" in flag for flag in flags):
        generator = FastGenerator([model], model.decoder.dictionary, beam_size=beam, max_len_b=12)
        generator.generate([model], sentences())  # fairseq's generator would draw other numbers
    else:
        assert_as_stock([model], sentences(), beam_size=beam)
    assert set(shared) == {shares}


def test_one_hypothesis_per_sentence_has_nothing_to_share(shared):
    assert_as_stock([translator("rope")], sentences(), beam_size=1)
    assert set(shared) == {False}


def test_wide_beams_reorder(shared, monkeypatch):
    monkeypatch.setattr(decoder_module, "WIDEST", 4)
    for beam, shares in ((4, True), (5, False)):
        shared.clear()
        assert_as_stock([translator("rope")], sentences(), beam_size=beam)
        assert set(shared) == {shares}


@pytest.mark.parametrize(("pattern", "shares"), [("full", True), ("window:4", False), ("sinks:1,window:3", False)])
@pytest.mark.parametrize("given", [(4, 4, 4), (7, 2, 4)], ids=["one length", "several"])
def test_language_models(given, pattern, shares, shared):
    """Keys that a pattern drops are in other places for each text."""
    text = prefixes(given)
    model = language_model("t5", "--attention-pattern", pattern)
    assert_as_stock([model], {"net_input": {"src_tokens": text}}, prefix=text, bos_token=2, max_len_b=14)
    assert set(shared) == {shares}


def test_dropout_in_generation_reorders(shared):
    """--retain-dropout: attention weights are dropped for each hypothesis."""
    model = translator("rope", "--attention-dropout", "0.3")
    for module in model.modules():
        if getattr(module, "module_name", None) == "MultiheadAttention":
            module.apply_during_inference = True
    generator = FastGenerator([model], model.decoder.dictionary, beam_size=4, max_len_b=12)
    generator.generate([model], sentences())
    assert set(shared) == {False}
