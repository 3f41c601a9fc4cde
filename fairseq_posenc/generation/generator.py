"""fairseq's generators for models of this package: the same hypotheses in less time."""

from collections.abc import Sequence
from typing import Any

import torch
from fairseq import search
from fairseq.sequence_generator import SequenceGenerator, SequenceGeneratorWithAlignment

from fairseq_posenc.generation.search import Search

#: Search strategies that need nothing else than the tokens and scores so far.
STRATEGIES = (search.BeamSearch, search.Sampling, search.DiverseBeamSearch, search.DiverseSiblingsSearch)


def takes(models: Sequence[Any]) -> bool:
    """Whether FastGenerator can work with these models: whether their decoders are of this package."""
    return all(hasattr(getattr(model, "decoder", None), "reorder_hypotheses") for model in models)


class FastGenerator(SequenceGenerator):
    """fairseq's SequenceGenerator, with its arguments and its results, less the attention over the source.

    What it does not cover it leaves to fairseq: constraints, a language model beside the model, blocked n-grams, and
    lengths that follow the source.
    """

    #: Whether hypotheses have their attention over the source.
    needs_attention = False

    def _generate(
        self,
        sample: dict[str, Any],
        prefix_tokens: torch.Tensor | None = None,
        constraints: torch.Tensor | None = None,
        bos_token: int | None = None,
    ) -> list[list[dict[str, Any]]]:
        if constraints is not None or not self._covers(sample):
            return super()._generate(sample, prefix_tokens, constraints, bos_token)
        return Search(self, sample, prefix_tokens, self.eos if bos_token is None else bos_token).run()

    def _covers(self, sample: dict[str, Any]) -> bool:
        return (
            type(self.search) in STRATEGIES
            and self.lm_model is None
            and self.repeat_ngram_blocker is None
            and not self.match_source_len
            and "src_tokens" in sample["net_input"]
        )


class FastGeneratorWithAlignment(SequenceGeneratorWithAlignment, FastGenerator):
    """FastGenerator for ``--print-alignment``."""

    needs_attention = True


def generator_class(models: Sequence[Any]) -> type[SequenceGenerator]:
    """The class with which fairseq's tasks generate from these models, where no alignment is asked for."""
    return FastGenerator if takes(models) else SequenceGenerator
