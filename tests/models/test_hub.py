"""In Python, ``from_pretrained`` translates, scores and samples as the commands do."""

import math
import re

import pytest
import torch
from fairseq.models.transformer import TransformerModel

from fairseq_posenc.models.language_model import PositionEncodingLanguageModel
from fairseq_posenc.models.transformer import PositionEncodingTransformer
from tests.models.test_earlier_checkpoints import EARLIER, hypotheses, texts  # noqa: F401 (a fixture)
from tests.support.commands import ROOT, python, succeeded, with_plugin

PLUGIN = str(ROOT / "fairseq_posenc")


@pytest.fixture
def sources(reversal_data):
    return (reversal_data.parent / "test.src").read_text().splitlines()


@pytest.mark.parametrize("model", [TransformerModel, PositionEncodingTransformer])
def test_translations_and_scores_are_those_of_generate(model, reversal_data, sources):
    """Stock fairseq's class loads our model too: which class is asked does not matter."""
    expected = hypotheses((EARLIER / "translation.tsv").read_text())
    hub = model.from_pretrained(str(EARLIER), "translation.pt", str(reversal_data), user_dir=PLUGIN)
    assert isinstance(hub.models[0], PositionEncodingTransformer)
    assert hub.translate(sources, beam=4, max_len_b=12) == [expected[str(i)][1] for i in range(len(sources))]
    found = hub.generate([hub.encode(source) for source in sources], beam=4, max_len_b=12)
    for i, hypos in enumerate(found):
        assert float(hypos[0]["score"]) / math.log(2) == pytest.approx(expected[str(i)][0], abs=1e-4)


def test_samples_are_those_of_interactive(reversal_data):
    """With the same seed, for one sentence: more of one length are put into a batch in random order."""
    sampling = ("--sampling", "--sampling-topk", 5, "--beam", 1, "--max-len-b", 12, "--seed", 7)
    words = (reversal_data, "--path", EARLIER / "translation.pt", *sampling)
    expected = hypotheses(with_plugin("fairseq-interactive", *words, stdin="w1 w2 w3 w4\n"))
    torch.manual_seed(7)  # before loading, as the command does: building a model draws numbers
    hub = PositionEncodingTransformer.from_pretrained(str(EARLIER), "translation.pt", str(reversal_data))
    assert hub.sample("w1 w2 w3 w4", sampling=True, sampling_topk=5, max_len_b=12) == expected["0"][1]


def test_a_language_model_scores_and_continues_as_the_commands_do(texts):  # noqa: F811
    data, path = texts["language_model"], EARLIER / "language_model.pt"
    hub = PositionEncodingLanguageModel.from_pretrained(str(EARLIER), "language_model.pt", str(data), user_dir=PLUGIN)
    sentences = ("--sample-break-mode", "eos", "--output-word-probs")
    lines = re.findall(
        r"eval_lm \| \d+ (w.*</s> .*)$", with_plugin("fairseq-eval-lm", data, "--path", path, *sentences), re.M
    )
    assert len(lines) > 10
    for line in lines:
        words = re.findall(r"(\S+) \[(\S+)\]", line)[:-1]  # score() leaves out the end of the sentence
        scores = hub.score(" ".join(word for word, _ in words))["positional_scores"]
        assert scores.tolist() == pytest.approx([float(score) for _, score in words], abs=1e-5)
    search = ("--task", "language_modeling", "--beam", 3, "--max-len-b", 12)
    out = with_plugin("fairseq-interactive", data, "--path", path, *search, stdin="w1 w2 w3\n")
    score, words = hypotheses(out)["0"]
    assert hub.sample("w1 w2 w3", beam=3, max_len_b=12) == words
    (best, *_) = hub.generate(hub.encode("w1 w2 w3"), beam=3, max_len_b=12)
    assert float(best["score"]) / math.log(2) == pytest.approx(score, abs=1e-4)


IMPORT = {
    "user_dir": (
        "from fairseq.models.transformer_lm import TransformerLanguageModel as Model",
        ", user_dir='fairseq_posenc'",
    ),
    "import": ("from fairseq_posenc.models.language_model import PositionEncodingLanguageModel as Model", ""),
}


@pytest.mark.parametrize("form", IMPORT)
def test_the_plugin_is_found_by_its_name_or_by_an_import(form, texts, tmp_path):  # noqa: F811
    imports, option = IMPORT[form]
    load = f"Model.from_pretrained(sys.argv[1], 'language_model.pt', sys.argv[2]{option})"
    code = f"import sys\n{imports}\nprint(type({load}.models[0]).__name__)"
    found = succeeded(python(code, EARLIER, texts["language_model"], cwd=tmp_path, PYTHONPATH=str(ROOT)))
    assert found.stdout.splitlines()[-1] == "PositionEncodingLanguageModel"
