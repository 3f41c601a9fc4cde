"""Scores agree with figures that other people published for their systems."""

import pytest

from fairseq_posenc.scoring.metrics import bleu_metric, chrf_metric, score
from fairseq_posenc.scoring.significance import paired_bootstrap

WMT17 = "wmt17-en-de"
SYSTEMS = ["LIUM-NMT.4900", "C-3MA.4959", "FBK.4870", "online-A.0", "online-B.0", "online-F.0", "online-G.0"]


@pytest.fixture(scope="module")
def reference(oracle):
    return oracle(f"{WMT17}/newstest2017.ref.de.gz")


@pytest.fixture(scope="module")
def bleu(reference):
    return bleu_metric(reference)


@pytest.mark.parametrize("system", SYSTEMS)
def test_bleu_of_wmt17_to_two_decimals(oracle, published, bleu, system):
    wanted = float(published(WMT17)[f"newstest2017.{system}.en-de"]["mteval_v13a_bleu"])
    assert round(score(bleu, oracle(f"{WMT17}/newstest2017.{system}.hyp.gz")), 2) == wanted


@pytest.mark.parametrize("system", ["C-3MA.4959", "FBK.4870"])
@pytest.mark.parametrize("word_order, column", [(0, "chrF_popovic"), (2, "chrFpp_popovic")])
def test_popovics_chrf_to_four_decimals(oracle, published, reference, system, word_order, column):
    wanted = float(published(WMT17)[f"newstest2017.{system}.en-de"][column])
    metric = chrf_metric(reference, word_order=word_order, eps_smoothing=True)
    assert round(score(metric, oracle(f"{WMT17}/newstest2017.{system}.hyp.gz")), 4) == wanted


@pytest.mark.parametrize(
    "hypothesis, reference_file",
    [
        ("wmt14.en-de.bergamot-base-memory.de", "wmt14.en-de.ref.de"),
        ("wmt14.en-fr.bergamot-base-memory.fr", "wmt14.en-fr.ref.fr"),
        ("wmt14.en-fr.google.fr", "wmt14.en-fr.ref.fr"),
    ],
)
def test_newstest2014(oracle, published, hypothesis, reference_file):
    row = published("newstest2014")[hypothesis]
    hypotheses = oracle(f"newstest2014/{hypothesis}.gz")
    references = oracle(f"newstest2014/{reference_file}.gz")
    bleu = score(bleu_metric(references), hypotheses)
    assert round(bleu, 1) == float(row["published_bleu"])
    assert round(bleu, 4) == float(row["recomputed_bleu"])
    assert round(score(chrf_metric(references), hypotheses), 4) == float(row["recomputed_chrF2pp"])


def test_paired_bootstrap_of_online_b_against_lium(oracle, reference, bleu):
    systems = [(name, oracle(f"{WMT17}/newstest2017.{name}.hyp.gz")) for name in ("LIUM-NMT.4900", "online-B.0")]
    metrics = {"bleu": bleu, "chrf": chrf_metric(reference, word_order=0)}
    p_values = paired_bootstrap(systems, metrics)
    assert list(p_values) == ["online-B.0"]
    assert {name: round(p, 4) for name, p in p_values["online-B.0"].items()} == {"bleu": 0.3077, "chrf": 0.0240}
