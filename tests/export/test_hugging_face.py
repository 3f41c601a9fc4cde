"""Models for transformers: the same logits and hypotheses as fairseq's, from the written folder alone."""

import pytest
import torch

from fairseq_posenc.cli import main
from tests.support.export import hypotheses, load, sources, tokens_of, write_model
from tests.support.models import text

transformers = pytest.importorskip("transformers", reason="needs: pip install 'fairseq-posenc[huggingface]'")

PRE_NORM = ("--encoder-normalize-before", "--decoder-normalize-before")
SHARED = ("--share-all-embeddings", "--layernorm-embedding")
TRANSLATION = {
    "FSMT": ("sinusoidal",),
    "M2M100": ("sinusoidal", *PRE_NORM, "--share-all-embeddings", "--activation-fn", "gelu"),
    "Bart": ("learned", *SHARED, "--decoder-layers", 1),
    "MBart": ("learned", *SHARED, *PRE_NORM, "--decoder-attention-heads", 4),
}
LANGUAGE_MODELS = {
    "XGLM": ("sinusoidal",),
    "BioGpt": ("learned", "--share-decoder-input-output-embed", "--no-scale-embedding"),
    "GPTNeoX": ("rope", "--rope-fraction", 0.5, "--rope-base", 500, "--activation-fn", "relu"),
    "GPTNeoX, linear": ("rope", "--rope-scaling", "linear", "--rope-scaling-factor", 3),
    "GPTNeoX, ntk": ("rope", "--rope-scaling", "ntk", "--rope-scaling-factor", 3),
}


def export(checkpoint, folder):
    assert main(["export", str(checkpoint), "--to", "huggingface", "--output", str(folder)]) == 0
    return str(folder)


@pytest.mark.parametrize("family", TRANSLATION)
def test_translation(family, reversal_data, tmp_path):
    """Logits of a padded batch, and the hypotheses of a search with the defaults in the folder."""
    checkpoint = write_model(tmp_path / "model.pt", reversal_data, *TRANSLATION[family], updates=150)
    folder = export(checkpoint, tmp_path / "out")
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    assert type(theirs).__name__ == f"{family}ForConditionalGeneration"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model, task = load(checkpoint)
    sentences = sources(task)
    batch = tokenizer([" ".join(words) for words in sentences], padding=True, return_tensors="pt")
    expected = hypotheses(model, task, sentences, beam=4)
    found = theirs.generate(**batch, num_beams=4)
    assert tokenizer.batch_decode(found, skip_special_tokens=True) == [" ".join(words) for words in expected]

    previous = text(lengths=[9] * len(sentences), words=12)
    lengths = batch["attention_mask"].sum(dim=1)
    with torch.no_grad():
        logits = theirs(**batch, decoder_input_ids=previous, use_cache=False).logits  # FSMT hides the future only so
        torch.testing.assert_close(logits, model(batch["input_ids"], lengths, previous)[0], atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_language_model(name, lm_data, tmp_path):
    words = ("--tokens-per-sample", 64)
    checkpoint = write_model(tmp_path / "model.pt", lm_data, *LANGUAGE_MODELS[name], *words, language_model=True)
    folder = export(checkpoint, tmp_path / "out")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    assert type(theirs).__name__ == f"{name.split(',')[0]}ForCausalLM"
    model, task = load(checkpoint)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    words = [task.target_dictionary[token] for token in text(lengths=(40,), words=12)[0].tolist()]
    tokens = tokenizer(" ".join(words), return_tensors="pt")["input_ids"]
    assert tokens.tolist() == tokens_of(task.target_dictionary, words, ends=False).tolist()
    with torch.no_grad():
        torch.testing.assert_close(theirs(tokens).logits, model(tokens)[0], atol=1e-4, rtol=0)
        # After a cache.
        start = theirs(tokens[:, :30], use_cache=True)
        rest = theirs(tokens[:, 30:], past_key_values=start.past_key_values).logits
        torch.testing.assert_close(rest, model(tokens)[0][:, 30:], atol=1e-4, rtol=0)
    # A batch of texts of different lengths is continued as each text alone.
    options = {"min_new_tokens": 6, "max_new_tokens": 6, "do_sample": False}
    batch = tokenizer([" ".join(words[:12]), " ".join(words[:5])], padding=True, return_tensors="pt")
    alone = theirs.generate(tokens[:, :6], **options)
    assert theirs.generate(**batch, **options)[1, -6:].tolist() == alone[0, -6:].tolist()


def test_two_dictionaries(stock_data, tmp_path):
    folder = export(write_model(tmp_path / "model.pt", stock_data, "sinusoidal"), tmp_path / "out")
    source, target = (transformers.AutoTokenizer.from_pretrained(f"{folder}{part}") for part in ("", "/target"))
    assert source("w1").input_ids != target("w1").input_ids == [3, 2]
