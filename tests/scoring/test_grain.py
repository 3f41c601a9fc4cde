"""``fairseq-posenc grain``: every score is sacreBLEU's own of that order, and gaps are differences to the first."""

import json

import pytest
from sacrebleu.metrics import BLEU, CHRF

from fairseq_posenc.cli import main
from fairseq_posenc.scoring.grain import chrf_counts
from fairseq_posenc.scoring.metrics import chrf_metric
from tests.support.translations import GOOD, POOR, REFERENCES, generated

METRICS = {
    "character": (30, lambda n: CHRF(char_order=n, word_order=2)),
    "word": (8, lambda n: CHRF(char_order=6, word_order=n)),
    "bleu": (8, lambda n: BLEU(max_ngram_order=n)),
}


@pytest.fixture
def grain(tmp_path, write, reference):
    words = ["grain", "--ref", reference, "--names", "base", "other", "--hyp", write("poor.txt", POOR)]
    words += [write("generate.log", generated(GOOD, REFERENCES)), "--json", str(tmp_path / "grain.json")]
    assert main(words) == 0
    return json.loads((tmp_path / "grain.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", METRICS)
def test_scores_are_those_of_sacrebleus_classes(grain, kind):
    highest, metric = METRICS[kind]
    points = grain["grains"][kind]
    assert [point["n"] for point in points] == list(range(1, highest + 1))
    for point in points:
        expected = metric(point["n"])
        scores = {"base": expected.corpus_score(POOR, [REFERENCES]).score}
        scores["other"] = expected.corpus_score(GOOD, [REFERENCES]).score
        assert point["scores"] == scores
        assert point["gaps"] == {"other": scores["other"] - scores["base"]}
        assert point["signature"] == str(expected.get_signature())


def test_default_orders_are_chrf_plus_plus_and_bleu(grain):
    chrf, bleu = CHRF(word_order=2), BLEU()
    assert grain["grains"]["character"][5]["scores"]["other"] == chrf.corpus_score(GOOD, [REFERENCES]).score
    assert grain["grains"]["bleu"][3]["scores"]["other"] == bleu.corpus_score(GOOD, [REFERENCES]).score


def test_result_names_itself_and_its_systems(grain, capsys):
    assert (grain["kind"], grain["baseline"], grain["lines"]) == ("grain", "base", 4)
    assert [system["name"] for system in grain["systems"]] == ["base", "other"]
    assert grain["versions"]["sacrebleu"] and grain["command"]


def test_counts_of_one_sentence():
    # "ab c" against "ab d": characters a, b, c / a, b, d of which 2 match; "ab", "bc" / "ab", "bd" of which 1;
    # words ab, c / ab, d of which 1.
    characters, words = chrf_counts(chrf_metric(["ab d"], char_order=2, word_order=1), ["ab c"])
    assert (characters, words) == ([[3, 3, 2], [2, 2, 1]], [[2, 2, 1]])


def test_published_translations(tmp_path, write, oracle):
    hypotheses = oracle("wmt17-en-de/newstest2017.FBK.4870.hyp.gz")[:200]
    references = oracle("wmt17-en-de/newstest2017.ref.de.gz")[:200]
    files = ["--ref", write("ref", references), "--hyp", write("same", references), write("hyp", hypotheses)]
    assert main(["grain", *files, "--json", str(tmp_path / "out.json")]) == 0
    grains = json.loads((tmp_path / "out.json").read_text())["grains"]
    for kind, (highest, metric) in METRICS.items():
        assert grains[kind][-1]["scores"]["hyp"] == metric(highest).corpus_score(hypotheses, [references]).score


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ref", "{ref}", "--hyp", "{good}"], "a gap needs two systems"),
        (["--ref", "{ref}", "--hyp", "{good}", "{short}"], "has 3 lines but"),
        (["--ref", "{ref}", "--hyp", "{good}", "{ref}", "--json", "{good}"], "would overwrite an input file"),
        (["--ref", "{ref}", "--hyp", "{good}", "no-such-file"], "cannot read no-such-file"),
    ],
)
def test_mistakes_end_in_one_line(write, reference, capsys, words, message):
    files = {"ref": reference, "good": write("good.txt", GOOD), "short": write("short.txt", GOOD[:3])}
    assert main(["grain", *(word.format(**files) for word in words)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error
