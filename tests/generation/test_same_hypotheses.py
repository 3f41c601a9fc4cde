"""The hypotheses of fairseq's own generator, with their scores, under every option."""

import copy

import pytest
import torch
from fairseq import search
from fairseq.sequence_generator import SequenceGenerator, SequenceGeneratorWithAlignment

from fairseq_posenc.encodings import encoding_names
from fairseq_posenc.errors import InputError
from fairseq_posenc.generation.generator import FastGenerator, FastGeneratorWithAlignment
from fairseq_posenc.generation.stepwise import Stepwise
from fairseq_posenc.models.packed import pack_linear_layers
from tests.support.generation import (
    assert_as_stock,
    assert_same,
    generate,
    language_model,
    prefixes,
    sentences,
    translator,
    varied,
)
from tests.support.models import build_small_lm

OPTIONS = {
    "short": {"len_penalty": 2.0},
    "long": {"len_penalty": 0.0},
    "unnormalized": {"normalize_scores": False},
    "minimum": {"min_len": 4},
    "maximum by source": {"max_len_a": 0.5, "max_len_b": 3},
    "one token": {"max_len_b": 1},
    "positions of the model": {"max_len_b": 2000, "max_len": 9},
    "few unknown words": {"unk_penalty": 3.0},
    "many unknown words": {"unk_penalty": -3.0},
    "temperature": {"temperature": 0.7},
    "suppressed": {"tokens_to_suppress": ("w3", "w5")},
    "beam larger than half of the vocabulary": {"beam_size": 11},
}
STRATEGIES = {
    "sampling": (search.Sampling,),
    "top-k": (search.Sampling, 5),
    "top-p": (search.Sampling, -1, 0.7),
    "diverse beam": (search.DiverseBeamSearch, 2, 0.5),
    "diverse siblings": (search.DiverseSiblingsSearch, 0.5),
}
PREFIXES = {
    "one token": ((1, 1, 1, 1, 1),),
    "two tokens": ((2, 2, 2, 2, 2),),
    "of several lengths": ((3, 1, 2, 2, 3),),
    "whole sentences": ((3, 2, 3, 3, 3), (1,)),
    "all sentences end": ((2, 2, 2, 2, 2), (0, 1, 2, 3, 4)),
    "longer than the longest": ((14, 14, 14, 13, 14),),
}


def lengths(hypotheses):
    return {len(hypothesis["tokens"]) for of_sentence in hypotheses for hypothesis in of_sentence}


@pytest.mark.parametrize("beam", [1, 4, 10])
@pytest.mark.parametrize("encoding", encoding_names())
def test_encoding(encoding, beam):
    hypotheses = assert_as_stock([translator(encoding)], sentences(), beam_size=beam)
    assert beam == 1 or len(lengths(hypotheses)) > 1  # sentences leave the batch one by one


def test_packed_weights():
    model = copy.deepcopy(translator("rope"))
    pack_linear_layers(model, least=1)
    expected = generate(SequenceGenerator, [translator("rope")], sentences())
    assert_same(generate(FastGenerator, [model], sentences()), expected)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_option(options):
    assert_as_stock([translator("t5")], sentences(), **options)


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
def test_strategy(strategy):
    assert_as_stock([translator("rope")], sentences(), strategy=strategy)


@pytest.mark.parametrize("strategy", [None, *STRATEGIES.values()], ids=["beam", *STRATEGIES])
@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_prefix(prefix, strategy):
    if strategy is not None and strategy[0] is search.DiverseSiblingsSearch and len(prefix) > 1:
        pytest.skip("fairseq's strategy fails where a prefix ends the sentence")
    options = {"prefix": prefixes(*prefix), "strategy": strategy}
    assert_as_stock([translator("shaw")], sentences(), **options)


@pytest.mark.parametrize("strategy", [None, STRATEGIES["top-k"]], ids=["beam", "top-k"])
def test_ensemble(strategy):
    models = [translator("rope"), translator("posnet-attn", seed=3)]
    assert_as_stock(models, sentences(), strategy=strategy)


@pytest.mark.parametrize("beam", [1, 4])
def test_one_sentence(beam):
    assert_as_stock([translator("alibi")], sentences(lengths=(5,)), beam_size=beam)


CONTINUED = [(name, pattern) for name in encoding_names() for pattern in ("full", "window:4", "blockwise:6")]


@pytest.mark.parametrize(("encoding", "pattern"), [*CONTINUED, *((n, "sinks:2,window:3") for n in ("t5", "xpos"))])
def test_language_model_goes_on_with_texts(encoding, pattern):
    """Texts of one length, read at once, and of several."""
    model = language_model(encoding, "--attention-pattern", pattern)
    for given in ((4, 4, 4), (7, 2, 4)):
        text = prefixes(given)
        assert_as_stock([model], {"net_input": {"src_tokens": text}}, prefix=text, bos_token=2, max_len_b=14)


def test_language_model_samples():
    text = prefixes((5, 2))
    sample = {"net_input": {"src_tokens": text}}
    assert_as_stock([language_model("xpos")], sample, prefix=text, strategy=STRATEGIES["top-p"], max_len_b=14)


def test_adaptive_softmax():
    flags = ("--adaptive-softmax-cutoff", "5,9", "--adaptive-softmax-dropout", 0, "--criterion", "adaptive_loss")
    model = build_small_lm("rope", *flags, words=14).eval()
    assert model.decoder.adaptive_softmax is not None
    text = prefixes((3, 2), words=14)
    assert_as_stock([model], {"net_input": {"src_tokens": text}}, prefix=text, temperature=0.5)


@pytest.mark.parametrize("kind", ["hard", "soft"])
@pytest.mark.parametrize("flags", [(), ("--full-context-alignment",)], ids=str)
def test_alignment(flags, kind):
    models, sample = [translator("rope", *flags), translator("t5", *flags, seed=3)], sentences()
    kinds = (FastGeneratorWithAlignment, SequenceGeneratorWithAlignment)
    found, expected = (generate(each, models, sample, print_alignment=kind) for each in kinds)
    assert_same(found, expected)
    for mine, theirs in zip(sum(found, []), sum(expected, [])):
        torch.testing.assert_close(mine["attention"], theirs["attention"], atol=1e-6, rtol=0)
        assert numbers(mine["alignment"]) == pytest.approx(numbers(theirs["alignment"]), abs=2e-6)
    assert any(len(hypothesis["alignment"]) > 1 for hypothesis in sum(found, []))


def numbers(alignment):
    """Of pairs of positions, or of weights as text."""
    return [float(number) for row in alignment for number in row]


def test_attention_only_for_alignments():
    (hypothesis, *_), *_ = generate(FastGenerator, [translator("rope")], sentences())
    assert hypothesis["attention"].numel() == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("encoding", ["none", "xpos", "shaw", "kerple-log", "posnet-attn"])
def test_half_precision(encoding, dtype):
    """The best hypotheses, and their scores. Where the two best are closer than rounding, it decides which is first."""
    rounding = 8 * torch.finfo(dtype).eps  # one unit in the last place of the logits, which reach 12
    model = translator(encoding).to(dtype)
    found, expected = (generate(kind, [model], sentences()) for kind in (FastGenerator, SequenceGenerator))
    same = 0
    for mine, (best, second, *_) in zip(found, expected):
        assert mine[0]["score"] == pytest.approx(float(best["score"]), abs=rounding)
        equal = mine[0]["tokens"].tolist() == best["tokens"].tolist()
        assert equal or best["score"] - second["score"] < 2 * rounding
        same += equal
    assert same >= len(found) - 1


def test_large_vocabulary():
    """Where the best tokens are looked for in groups."""
    model = varied(translator("none", words=1000), scale=6.0)
    assert_as_stock([model], sentences(words=1000), beam_size=5)


def test_scores_that_are_not_a_number_leave_others_alone():
    """A word whose embedding overflowed: hypotheses with it are never chosen."""
    model = translator("none")
    with torch.no_grad():
        model.decoder.embed_tokens.weight[7].fill_(float("nan"))
    assert_as_stock([model], sentences(lengths=(4, 4)), beam_size=3)


def test_minimum_beyond_the_maximum():
    with pytest.raises(InputError, match="--min-len 13 exceeds the longest hypothesis, 12 tokens"):
        generate(FastGenerator, [translator("none")], sentences(), min_len=13)


def test_what_keeps_its_order_is_not_copied(monkeypatch):
    """One hypothesis per sentence: nothing is reordered before a sentence has ended."""
    calls, reorder = [], Stepwise.reorder

    def counted(self, rows, sentences):
        calls.append(sentences)
        reorder(self, rows, sentences)

    monkeypatch.setattr(Stepwise, "reorder", counted)
    expected = assert_as_stock([translator("rope")], sentences(), beam_size=1)
    assert len(lengths(expected)) > 1
    assert calls and all(call is not None for call in calls)
