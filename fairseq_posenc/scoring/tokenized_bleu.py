r"""BLEU of tokenised text with hyphenated compounds split: the figure of Vaswani et al. (2017) and of the PosNet paper.

fairseq computes it in ``scripts/compound_split_bleu.sh``: ``perl -ple 's{(\S)-(\S)}{$1 ##AT##-##AT## $2}g'`` on the
tokenised hypotheses and references, then ``fairseq-score``. That counts hashes of n-grams, and now and then two n-grams
have one hash; here the n-grams themselves are counted. The figures are mostly equal to the last digit that is printed,
and differ by a hundredth or so where hashes collide (26.44 here, 26.45 there for system ICL of WMT21, reference A).
They are not comparable with sacreBLEU, which tokenises the raw text itself.
"""

import re

from sacrebleu.metrics import BLEU

# Bytes, as in perl without -C: after "a-é" has matched, the last byte of "é" can still open the next match of "é-b",
# which a pattern on characters would miss; and a no-break space does not count as white space.
COMPOUND = re.compile(rb"(\S)-(\S)")

# No text file that read_lines accepts holds a NUL, so this word equals none of a hypothesis.
NEVER_MATCHED = "\0unknown"


def split_compounds(line):
    """Return the line with each ``x-y`` as ``x ##AT##-##AT## y``; of ``a-b-c`` only the first, as perl's s///g does."""
    return COMPOUND.sub(rb"\1 ##AT##-##AT## \2", line.encode("utf-8")).decode("utf-8")


def tokenized_bleu_metric(references):
    """Return sacreBLEU's BLEU set to count as ``fairseq-score``: tokens as given, no smoothing."""
    prepared = [_as_fairseq_counts(line, reference=True) for line in references]
    return BLEU(references=[prepared], tokenize="none", smooth_method="none", force=True)


def tokenized_bleu(metric, hypotheses):
    """Return the corpus BLEU, 0 to 100, of tokenised hypotheses under ``tokenized_bleu_metric(references)``."""
    return metric.corpus_score([_as_fairseq_counts(line) for line in hypotheses], None).score


def tokenized_signature(metric):
    """Return sacreBLEU's signature with the compound splitting added to it."""
    return f"{metric.get_signature()}|compounds:split"


def _as_fairseq_counts(line, reference=False):
    """Return the tokens that fairseq's BLEU counts, joined by spaces.

    An empty sentence counts as one token, its end mark; padding and end marks at the ends of others are not counted;
    an unknown word of the reference is matched by nothing.
    """
    tokens = split_compounds(line).split() + ["</s>"]
    while tokens[0] == "<pad>":
        del tokens[0]
    while len(tokens) > 1 and tokens[-1] in ("</s>", "<pad>"):
        del tokens[-1]
    if reference:
        tokens = [NEVER_MATCHED if token == "<unk>" else token for token in tokens]
    return " ".join(tokens)
