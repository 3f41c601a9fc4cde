"""Models that read hypotheses token by token, and what they say of the next token."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from fairseq_posenc.attention.keys import IncrementalState
from fairseq_posenc.generation.candidates import log_softmax_
from fairseq_posenc.linear import is_linear


class Read(NamedTuple):
    """What the models make of columns that were new to them.

    Args:
        features: of each model, (N, T, C).
        attention: over the source, (N, T, S), the mean over models; or None.
    """

    features: list[torch.Tensor]
    attention: torch.Tensor | None


class Stepwise:
    """One model or an ensemble, each with a cache of what it has read. The cache holds the source once per sentence.

    Args:
        models: of this package.
        sources: what the encoder of each model has returned; None: language models.
        temperature: divides the logits.
        need_attention: whether ``read`` returns the attention over the source.
        longest: how many tokens a hypothesis may have, with the one that it follows.
        device: of the tokens.
    """

    def __init__(
        self,
        models: Sequence[Any],
        sources: list[Any] | None,
        temperature: float,
        need_attention: bool,
        longest: int,
        device: torch.device,
    ) -> None:
        self.models, self.sources = models, sources or [None] * len(models)
        self.temperature, self.need_attention = temperature, need_attention
        self._caches: list[IncrementalState] = [{} for _ in models]
        for model, cache in zip(models, self._caches):
            model.decoder.begin_hypotheses(cache, longest, device)
        self._buffers: list[tuple[torch.Tensor, torch.Tensor] | None] = [None for _ in models]

    def read(self, tokens: torch.Tensor) -> Read:
        """Read the columns of ``tokens`` (N, ..) that are new. There are as many rows per sentence as at the call
        before, or, after ``reorder``, as it has been given.
        """
        features, attentions = [], []
        for model, source, cache in zip(self.models, self.sources, self._caches):
            x, extra = model.decoder.extract_features(
                tokens, encoder_out=source, incremental_state=cache, need_attn=self.need_attention
            )
            features.append(x)
            attentions += [attention for attention in extra["attn"] if attention is not None]
        return Read(features, sum(attentions) / len(features) if attentions else None)

    def log_probs(self, features: list[torch.Tensor]) -> torch.Tensor:
        """Of every token of the vocabulary after features (N, C) of each model: (N, V) in fp32.

        The next call uses the same memory.
        """
        found = [self._log_probs(index, x) for index, x in enumerate(features)]
        mean = found[0]
        for other in found[1:]:
            torch.logaddexp(mean, other, out=mean)
        return mean if len(found) == 1 else mean.sub_(math.log(len(found)))

    def reorder(self, rows: torch.Tensor, sentences: torch.Tensor | None) -> None:
        """Go on with the hypotheses ``rows`` and the source of ``sentences`` (None: of the same ones)."""
        for model, cache in zip(self.models, self._caches):
            model.decoder.reorder_hypotheses(cache, rows, sentences)

    def _log_probs(self, index: int, features: torch.Tensor) -> torch.Tensor:
        model = self.models[index]
        logits = self._output_layer(index, features)
        if self.temperature != 1.0:
            logits = logits / self.temperature
        if model.decoder.adaptive_softmax is not None:  # these are features
            return model.get_normalized_probs((logits.unsqueeze(1), None), log_probs=True).squeeze(1)
        return log_softmax_(logits.float())

    def _output_layer(self, index: int, features: torch.Tensor) -> torch.Tensor:
        decoder = self.models[index].decoder
        layer = decoder.output_projection
        plain = is_linear(layer) and layer.bias is None and not torch.is_autocast_enabled("cpu")
        if features.device.type != "cpu" or not plain:
            return decoder.output_layer(features)
        # PyTorch's product for CPUs is faster this way round, and new memory of this size would be filled with zeros
        # at every step.
        rows, buffers = features.size(0), self._buffers[index]
        if buffers is None or buffers[0].size(0) < rows:
            shape = rows, layer.weight.size(0)
            buffers = self._buffers[index] = features.new_empty(shape), features.new_empty(shape[0] * shape[1])
        logits, columns = buffers[0][:rows], buffers[1][: rows * layer.weight.size(0)].view(-1, rows)
        torch.mm(layer.weight, features.t(), out=columns)
        return logits.copy_(columns.t())
