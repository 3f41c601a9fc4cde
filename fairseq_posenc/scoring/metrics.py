"""BLEU, chrF and chrF++ as sacreBLEU computes them, with the signature that makes a score reproducible."""

from sacrebleu.metrics import BLEU, CHRF


def bleu_metric(references, max_order=4):
    """Return sacreBLEU's BLEU (13a tokenisation, exponential smoothing) with one reference per sentence."""
    # force: the caller warns once about tokenised files; sacreBLEU would repeat the warning in every pass.
    return BLEU(references=[references], max_ngram_order=max_order, force=True)


def chrf_metric(references, char_order=6, word_order=2, eps_smoothing=False):
    """Return sacreBLEU's chrF with one reference per sentence.

    ``word_order=2`` is chrF++ (Popović 2017), 0 is chrF (Popović 2015). ``eps_smoothing`` averages the F-scores of the
    n-gram orders, as Popović's own chrF++.py does; without it precision and recall are averaged first.
    """
    return CHRF(char_order=char_order, word_order=word_order, eps_smoothing=eps_smoothing, references=[references])


def score(metric, hypotheses):
    """Return the corpus score, 0 to 100."""
    return metric.corpus_score(hypotheses, None).score


def signature(metric):
    """Return sacreBLEU's signature, such as ``nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0``."""
    return str(metric.get_signature())
