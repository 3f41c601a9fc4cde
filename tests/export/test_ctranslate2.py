"""Models for CTranslate2: the same log-probabilities, logits and hypotheses as fairseq's."""

import json

import numpy as np
import pytest
import torch

from fairseq_posenc.cli import main
from tests.support.export import hypotheses, load, log_probabilities, sources, write_model
from tests.support.models import text

ctranslate2 = pytest.importorskip("ctranslate2", reason="needs ctranslate2: pip install 'fairseq-posenc[ctranslate2]'")

PRE_NORM = ("--encoder-normalize-before", "--decoder-normalize-before")
TRANSLATION = {
    "sinusoidal": ("sinusoidal",),
    "sinusoidal, pre-norm, shared": ("sinusoidal", *PRE_NORM, "--share-all-embeddings", "--activation-fn", "gelu"),
    "learned, pre-norm encoder": ("learned", PRE_NORM[0], "--layernorm-embedding"),
    "none": ("none",),
    "shaw": ("shaw",),
    "shaw, shared, other sizes": ("shaw", "--shaw-layers", "shared", "--decoder-attention-heads", 4),
    "t5": ("t5",),
    "t5, sqrt-dim": ("t5", "--t5-scale", "sqrt-dim"),
    "rope": ("rope", "--rope-base", 500),
    "rope, linear": ("rope", "--rope-scaling", "linear", "--rope-scaling-factor", 3),
    "rope, ntk, alibi": (
        *("rope", "--rope-scaling", "ntk", "--rope-scaling-factor", 3, "--rope-fraction", 0.5),
        *("--decoder-position-encoding", "alibi"),
    ),
}
LANGUAGE_MODELS = {
    "sinusoidal": ("sinusoidal",),
    "learned": ("learned", "--no-scale-embedding", "--layernorm-embedding"),
    "none": ("none", "--decoder-input-dim", 8),
    "shaw": ("shaw", "--decoder-input-dim", 8, "--decoder-output-dim", 12),
    "rope": ("rope", "--share-decoder-input-output-embed"),
    "alibi": ("alibi", "--no-decoder-final-norm"),
    "alibi, 3 heads": (
        "alibi",
        "--decoder-attention-heads",
        3,
        "--decoder-embed-dim",
        24,
        "--activation-fn",
        "gelu_fast",
    ),
}


def export(checkpoint, folder, *words):
    assert main(["export", str(checkpoint), "--to", "ctranslate2", "--output", str(folder), *words]) == 0
    return str(folder)


def translator(folder):
    return ctranslate2.Translator(folder, intra_threads=1, compute_type="float32")


@pytest.mark.parametrize("flags", TRANSLATION.values(), ids=TRANSLATION.keys())
def test_log_probabilities_of_translations(flags, reversal_data, tmp_path):
    """A batch of sentences of different lengths, none of which is in any order."""
    checkpoint = write_model(tmp_path / "model.pt", reversal_data, *flags)
    model, task = load(checkpoint)
    sentences = sources(task, count=8)
    targets = [words * 3 for words in reversed(sentences)]  # longer than the clip and the exact buckets
    scored = translator(export(checkpoint, tmp_path / "out")).score_batch(sentences, targets)
    for sentence, words, result in zip(sentences, targets, scored):
        expected = log_probabilities(model, task, sentence, words)
        torch.testing.assert_close(torch.tensor(result.log_probs), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("flags", LANGUAGE_MODELS.values(), ids=LANGUAGE_MODELS.keys())
def test_logits_of_language_models(flags, lm_data, tmp_path):
    """In one pass, and after a prompt."""
    words = ("--tokens-per-sample", 64)
    checkpoint = write_model(tmp_path / "model.pt", lm_data, *flags, *words, language_model=True)
    generator = ctranslate2.Generator(export(checkpoint, tmp_path / "out"), intra_threads=1, compute_type="float32")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["bos_token"] == "</s>"
    model, task = load(checkpoint)
    for row in text(lengths=(40, 7), words=12):
        tokens = row[row != 1]
        words = [task.target_dictionary[token] for token in tokens.tolist()]
        with torch.no_grad():
            expected = model(tokens.unsqueeze(0))[0][0]
        torch.testing.assert_close(as_tensor(generator.forward_batch([words]))[0], expected, atol=1e-4, rtol=0)
        options = {"max_length": 1, "return_logits_vocab": True, "include_prompt_in_result": False}
        after = generator.generate_batch([words], min_length=0, **options)[0]
        torch.testing.assert_close(as_tensor(after.logits[0][0]).flatten(), expected[-1], atol=1e-4, rtol=0)


def as_tensor(storage):
    return torch.from_numpy(np.array(storage))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "shaw" else pytest.mark.slow) for name in TRANSLATION]
)
def test_hypotheses_are_those_of_fairseq(name, reversal_data, tmp_path):
    checkpoint = write_model(tmp_path / "model.pt", reversal_data, *TRANSLATION[name], updates=200)
    model, task = load(checkpoint)
    sentences = sources(task)
    expected = hypotheses(model, task, sentences, min_len=0, max_len_b=40)
    found = translator(export(checkpoint, tmp_path / "out")).translate_batch(
        sentences, beam_size=4, return_scores=True, min_decoding_length=0, max_decoding_length=40
    )
    for sentence, words, result in zip(sentences, expected, found):
        assert result.hypotheses[0] == words
        score = log_probabilities(model, task, sentence, words).mean()
        assert result.scores[0] == pytest.approx(float(score), abs=1e-4)


def test_int8_is_smaller_and_near(reversal_data, tmp_path):
    checkpoint = write_model(tmp_path / "model.pt", reversal_data, "rope", "--decoder-embed-dim", 64)
    _, task = load(checkpoint)
    sentences = sources(task)
    folders = [export(checkpoint, tmp_path / name, "--quantization", name) for name in ("float32", "int8")]
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("float32", "int8")]
    assert sizes[1] < sizes[0] / 2
    scored = [ctranslate2.Translator(folder, intra_threads=1).score_batch(sentences, sentences) for folder in folders]
    for exact, rounded in zip(*scored):
        assert 0 < np.abs(np.subtract(exact.log_probs, rounded.log_probs)).max() < 0.5
