r"""BLEU of tokenised text with hyphenated compounds split, as reported by Vaswani et al. (2017) and the PosNet paper.

fairseq computes it in ``scripts/compound_split_bleu.sh``: ``perl -ple 's{(\S)-(\S)}{$1 ##AT##-##AT## $2}g'`` on the
tokenised hypotheses and references, then ``fairseq-score``. fairseq counts hashes of n-grams, which sometimes collide;
this module counts the n-grams themselves. The scores are mostly equal in all printed digits, and differ by about 0.01
if hashes collide (26.44 here, 26.45 in fairseq for system ICL of WMT21, reference A). They are not comparable with
sacreBLEU, which tokenises the raw text itself.
"""

import re

from sacrebleu.metrics import BLEU

# Bytes, as in perl without -C: after the match "a-é", the last byte of "é" can still start the match "é-b", which a
# pattern of characters would miss; and a no-break space does not count as white space.
COMPOUND = re.compile(rb"(\S)-(\S)")

# read_lines refuses files with NUL, so no word of a hypothesis equals this one.
NEVER_MATCHED = "\0unknown"


def split_compounds(line):
    """Replace ``x-y`` by ``x ##AT##-##AT## y``; in ``a-b-c`` only the first hyphen, as perl's s///g does."""
    return COMPOUND.sub(rb"\1 ##AT##-##AT## \2", line.encode("utf-8")).decode("utf-8")


def tokenized_bleu_metric(references):
    """Return sacreBLEU's BLEU configured as ``fairseq-score``: no tokenisation, no smoothing."""
    prepared = [_as_fairseq_counts(line, reference=True) for line in references]
    return BLEU(references=[prepared], tokenize="none", smooth_method="none", force=True)


def tokenized_bleu(metric, hypotheses):
    """Return the corpus BLEU, 0 to 100, of tokenised hypotheses under ``tokenized_bleu_metric(references)``."""
    return metric.corpus_score([_as_fairseq_counts(line) for line in hypotheses], None).score


def tokenized_signature(metric):
    """Return sacreBLEU's signature, extended by the compound splitting."""
    return f"{metric.get_signature()}|compounds:split"


def _as_fairseq_counts(line, reference=False):
    """Return the tokens that fairseq's BLEU counts, joined by spaces.

    An empty sentence counts as one token, its end mark. Leading padding, and trailing padding and end marks of other
    sentences are not counted. An unknown word of the reference never matches.
    """
    tokens = split_compounds(line).split() + ["</s>"]
    while tokens[0] == "<pad>":
        del tokens[0]
    while len(tokens) > 1 and tokens[-1] in ("</s>", "<pad>"):
        del tokens[-1]
    if reference:
        tokens = [NEVER_MATCHED if token == "<unk>" else token for token in tokens]
    return " ".join(tokens)
