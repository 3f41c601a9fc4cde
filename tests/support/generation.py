"""Small models that generate varied hypotheses, and comparisons of what two generators make of them."""

import torch
from fairseq.sequence_generator import SequenceGenerator

from fairseq_posenc.generation.generator import FastGenerator
from tests.support.models import batch, build_small, build_small_lm, text

LENGTHS = (6, 3, 5, 8, 1)
#: Few words, so that hypotheses end early and late.
WORDS = 8
#: Scores of fp32 that differ by more are different.
TOLERANCE = 1e-5


def varied(model, scale=3.0, seed=1):
    """The model with an output layer that prefers other tokens after each context, and ends now and then."""
    generator = torch.Generator().manual_seed(seed)
    layer = model.decoder.output_projection
    with torch.no_grad():
        layer.weight.copy_(scale * torch.randn(layer.weight.shape, generator=generator) / layer.weight.size(1) ** 0.5)
        layer.weight[model.decoder.dictionary.eos()] *= 1.5
    return model.eval()


def translator(encoding, *flags, seed=1, words=WORDS):
    return varied(build_small(encoding, *flags, words=words), seed=seed)


def language_model(encoding, *flags, seed=1, words=WORDS):
    return varied(build_small_lm(encoding, *flags, words=words), seed=seed)


def sentences(lengths=LENGTHS, words=WORDS):
    """A batch for a translation model, as fairseq's tasks make it."""
    inputs = batch(lengths, words=words)
    return {
        "id": torch.arange(10, 10 + len(lengths)),
        "net_input": {"src_tokens": inputs["src_tokens"], "src_lengths": inputs["src_lengths"]},
    }


def prefixes(lengths, ending=(), words=WORDS):
    """(B, P): tokens of these numbers, padded on the right; those of the sentences ``ending`` end with the sentence."""
    tokens = text(lengths, words=words)
    for row in ending:
        tokens[row, lengths[row] - 1] = 2
    return tokens


def generate(kind, models, sample, strategy=None, seed=5, prefix=None, bos_token=None, **options):
    """The hypotheses of a generator class. strategy: the class of a search and its arguments."""
    dictionary = models[0].decoder.dictionary
    if strategy is not None:
        options["search_strategy"] = strategy[0](dictionary, *strategy[1:])
    generator = kind(models, dictionary, **{"max_len_b": 12, "beam_size": 4, **options})
    torch.manual_seed(seed)
    return generator.generate(models, sample, prefix_tokens=prefix, bos_token=bos_token)


def assert_same(found, expected, tolerance=TOLERANCE):
    """All hypotheses of all sentences: tokens, scores, and the score of each token."""
    assert [len(hypotheses) for hypotheses in found] == [len(hypotheses) for hypotheses in expected]
    for mine, theirs in zip(sum(found, []), sum(expected, [])):
        assert mine["tokens"].tolist() == theirs["tokens"].tolist()
        for name in ("score", "positional_scores"):
            torch.testing.assert_close(mine[name], theirs[name], atol=tolerance, rtol=0)
        assert set(mine) == set(theirs)


def assert_as_stock(models, sample, **options):
    """FastGenerator, which must not have left the work to fairseq, against fairseq's generator."""
    expected = generate(SequenceGenerator, models, sample, **options)
    found = generate(Watched, models, sample, **options)
    assert_same(found, expected)
    return expected


class Watched(FastGenerator):
    """FastGenerator that fails where it would leave the work to fairseq."""

    def _covers(self, sample):
        assert super()._covers(sample)
        return True
