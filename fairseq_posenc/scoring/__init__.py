"""Scores of translations: BLEU, chrF++, the tokenised compound-split BLEU, paired significance.

Only ``fairseq_scorers`` imports fairseq; all other modules apply sacreBLEU to lists of sentences.
"""
