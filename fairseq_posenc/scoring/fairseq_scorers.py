"""Scorers for ``fairseq-generate --scoring``: ``chrfpp`` and ``sacrebleu_signature``.

fairseq's own ``chrf`` has no word n-grams, and its ``sacrebleu`` prints no signature (and tokenises outside sacreBLEU,
so that a signature would be wrong). Both scorers here read the T- and D- text of each sentence. Use ``--remove-bpe``,
and for tokenised data also ``--tokenizer moses`` with the ``--source-lang`` and ``--target-lang`` that it needs;
otherwise subword pieces or tokenised text are scored.
"""

import logging
from dataclasses import dataclass, field

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer
from sacrebleu.metrics import BLEU, CHRF

from fairseq_posenc.scoring.text import holds_subword_pieces

logger = logging.getLogger(__name__)


class _SacrebleuMetricScorer(BaseScorer):
    """Collects sentences and scores them with a sacreBLEU metric at the end."""

    def __init__(self, cfg, metric):
        super().__init__(cfg)
        self.metric = metric

    def score(self) -> float:
        """Return the corpus score, 0 to 100."""
        return self._score_and_signature()[0].score

    def result_string(self) -> str:
        """Return the score to two decimals with its signature, one line."""
        if holds_subword_pieces(self.pred):
            logger.warning("the hypotheses contain subword pieces, which are scored as words: use --remove-bpe")
        score, signature = self._score_and_signature()
        return score.format(width=2, signature=str(signature))

    def _score_and_signature(self):
        score = self.metric.corpus_score(self.pred, [self.ref])
        return score, self.metric.get_signature()


@dataclass
class ChrfPlusPlusConfig(FairseqDataclass):
    chrf_eps_smoothing: bool = field(
        default=False, metadata={"help": "average the F-scores of the n-gram orders, as Popović's chrF++.py does"}
    )


@register_scorer("chrfpp", dataclass=ChrfPlusPlusConfig)
class ChrfPlusPlusScorer(_SacrebleuMetricScorer):
    """chrF++: character 6-grams and word 2-grams, beta 2 (Popović 2017)."""

    def __init__(self, cfg):
        super().__init__(cfg, CHRF(word_order=2, eps_smoothing=cfg.chrf_eps_smoothing))


@dataclass
class SacrebleuSignatureConfig(FairseqDataclass):
    sacrebleu_tokenizer: ChoiceEnum(sorted(BLEU.TOKENIZERS)) = field(
        default="13a", metadata={"help": "sacreBLEU's tokeniser"}
    )
    sacrebleu_lowercase: bool = field(default=False, metadata={"help": "ignore case"})


@register_scorer("sacrebleu_signature", dataclass=SacrebleuSignatureConfig)
class SacrebleuSignatureScorer(_SacrebleuMetricScorer):
    """sacreBLEU's BLEU of the raw text, with its signature."""

    def __init__(self, cfg):
        # Created before translation starts, so that a missing tokeniser fails at once.
        super().__init__(cfg, BLEU(tokenize=str(cfg.sacrebleu_tokenizer), lowercase=cfg.sacrebleu_lowercase))
