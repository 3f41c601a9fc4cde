"""Scores of translations: BLEU, chrF++, the tokenised compound-split BLEU, paired significance.

Only ``fairseq_scorers`` imports fairseq; everything else works on lists of sentences with sacreBLEU.
"""
