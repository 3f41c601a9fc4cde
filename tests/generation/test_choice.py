"""Who generates: fairseq's tasks ask for a generator, and get the fast one for models of this package alone."""

from types import SimpleNamespace

import pytest
import torch
from fairseq import search
from fairseq.sequence_generator import SequenceGenerator, SequenceGeneratorWithAlignment
from fairseq.sequence_scorer import SequenceScorer
from fairseq.tasks import FairseqTask
from fairseq.token_generation_constraints import pack_constraints

import fairseq_posenc.models.transformer  # noqa: F401 (what --user-dir imports)
from fairseq_posenc.generation import generator as fast
from fairseq_posenc.generation.generator import FastGenerator, FastGeneratorWithAlignment
from tests.support.generation import assert_same, generate, language_model, sentences, translator
from tests.support.host_reads import reads
from tests.support.models import stock_model


class Task(FairseqTask):
    """A task that knows a dictionary alone."""

    def __init__(self, models):
        self.dictionary = models[0].decoder.dictionary

    target_dictionary = source_dictionary = property(lambda self: self.dictionary)


def chosen(models, **args):
    return Task(models).build_generator(models, SimpleNamespace(**args))


def test_fast_for_models_of_this_package():
    assert type(chosen([translator("rope"), translator("t5")], beam=3)) is FastGenerator
    assert type(chosen([language_model("rope")])) is FastGenerator
    assert chosen([translator("rope")], beam=3, lenpen=0.5, unnormalized=True).beam_size == 3


def test_fast_with_alignments():
    generator = chosen([translator("rope")], print_alignment="soft")
    assert type(generator) is FastGeneratorWithAlignment
    assert generator.extract_alignment.__name__ == "extract_soft_alignment"


@pytest.mark.parametrize("alignment", [None, "hard"])
def test_fairseqs_own_for_other_models(alignment):
    kind = SequenceGeneratorWithAlignment if alignment else SequenceGenerator
    for models in ([stock_model("sinusoidal")], [translator("sinusoidal"), stock_model("sinusoidal")]):
        assert type(chosen(models, print_alignment=alignment)) is kind


def test_references_are_scored_by_fairseq():
    assert type(chosen([translator("rope")], score_reference=True)) is SequenceScorer


def test_a_class_that_a_task_asks_for():
    models = [translator("rope")]
    task = Task(models)
    assert type(task.build_generator(models, SimpleNamespace(), seq_gen_cls=SequenceGenerator)) is SequenceGenerator


class Blocked(FastGenerator):
    """FastGenerator that must leave the work to fairseq."""

    def _covers(self, sample):
        assert not super()._covers(sample)
        return False


UNCOVERED = {
    "blocked n-grams": {"no_repeat_ngram_size": 2},
    "length of the source": {
        "match_source_len": True,
        "strategy": (search.LengthConstrainedBeamSearch, 1, 0, 1, 0),
        "max_len_b": 20,
    },
    "allowed tokens": {"strategy": (search.PrefixConstrainedBeamSearch, lambda batch, tokens: [2, 4, 5, 6])},
    "language model": {"lm_model": language_model("none", seed=2), "lm_weight": 0.5},
}


@pytest.mark.parametrize("options", UNCOVERED.values(), ids=UNCOVERED)
def test_left_to_fairseq(options):
    models, sample = [translator("rope")], sentences()
    found, expected = (generate(kind, models, sample, **options) for kind in (Blocked, SequenceGenerator))
    assert_same(found, expected)


@pytest.mark.parametrize("kind", ["ordered", "unordered"])
def test_constraints_are_left_to_fairseq(kind, monkeypatch):
    monkeypatch.setattr(fast, "Search", None)
    model, sample = translator("rope"), sentences(lengths=(4, 6))
    constraints = pack_constraints([[torch.tensor([5, 6])], []])
    dictionary, found = model.decoder.dictionary, []
    for each in (FastGenerator, SequenceGenerator):
        strategy = search.LexicallyConstrainedBeamSearch(dictionary, kind)
        generator = each([model], dictionary, beam_size=6, max_len_b=30, search_strategy=strategy)
        found.append(generator.generate([model], sample, constraints=constraints))
    assert_same(*found)
    assert {5, 6} <= set(found[0][0][0]["tokens"].tolist())


def test_training_goes_on_between_two_generations():
    """As with --eval-bleu: the second one sees the new weights, and the model trains as if there had been none."""
    model, other, sample = translator("rope"), translator("rope"), sentences()
    inputs = {**sample["net_input"], "prev_output_tokens": sample["net_input"]["src_tokens"].flip(1)}
    generator = FastGenerator([model], model.decoder.dictionary, beam_size=4, max_len_b=12)
    for _ in range(2):
        generator.generate([model], sample)
        for each in (model, other):
            each.train()
            optimizer = torch.optim.SGD(each.parameters(), lr=0.01)
            each(**inputs)[0].log_softmax(-1).pow(2).mean().backward()
            optimizer.step()
            each.zero_grad()
    for mine, theirs in zip(model.parameters(), other.parameters()):
        assert torch.equal(mine, theirs)
    assert_same(generator.generate([model], sample), generate(SequenceGenerator, [other], sample))


@pytest.mark.parametrize("beam", [1, 4])
def test_host_reads(beam):
    """None but the counts of ended hypotheses, once per step, and, on a CPU, whether the order has changed."""
    model = translator("rope")
    counts = reads(lambda: generate(FastGenerator, [model], sentences(), beam_size=beam, min_len=12))
    assert set(counts) <= {"equal"}
    assert counts["equal"] <= (12 if beam > 1 else 0)
