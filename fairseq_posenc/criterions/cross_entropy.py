"""fairseq's two cross-entropies, computed over slices of the tokens (see sliced_loss.py).

Flags, logged numbers and losses are those of fairseq's criteria; memory and time are less. One flag is new:
``--ignore-prefix-until``.
"""

from dataclasses import dataclass, field
from typing import Any, Optional

import torch
from fairseq.criterions import register_criterion
from fairseq.criterions.cross_entropy import CrossEntropyCriterion, CrossEntropyCriterionConfig
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)
from torch import nn

from fairseq_posenc.criterions.sliced_loss import Losses, sliced_cross_entropy
from fairseq_posenc.errors import InputError
from fairseq_posenc.linear import is_linear


def output_layer(model: nn.Module, criterion: str) -> tuple[nn.Module, torch.Tensor]:
    """A model without what wraps it for distributed training, and the matrix (V, C) of its output layer.

    Raises:
        InputError: the model has an adaptive softmax, or an output layer that is no matrix alone.
    """
    module: Any = model
    while isinstance(getattr(module, "module", None), nn.Module):
        module = module.module
    decoder = getattr(module, "decoder", None)
    plain = criterion.removeprefix("sliced_")
    if getattr(decoder, "adaptive_softmax", None) is not None:
        raise InputError(f"--criterion {criterion} is not for an adaptive softmax; give --criterion adaptive_loss")
    layer = getattr(decoder, "output_projection", None)
    if not is_linear(layer) or layer.bias is not None:
        raise InputError(
            f"--criterion {criterion} needs a decoder whose output layer is one matrix; give --criterion {plain}"
        )
    return module, layer.weight


def losses_of(
    name: str,
    model: nn.Module,
    sample: dict[str, Any],
    padding_idx: int,
    epsilon: float = 0.0,
    prefix: int = 0,
    accuracy: bool = False,
) -> tuple[Losses, torch.Tensor]:
    """The losses of a sample, and the targets (N,) that they are of."""
    module, weight = output_layer(model, name)
    target = sample["target"][:, prefix:].reshape(-1)

    def losses(module: nn.Module, inputs: Any, output: tuple) -> Losses:
        features = output[0][:, prefix:].flatten(0, 1)
        return sliced_cross_entropy(features, weight, target, padding_idx, epsilon, accuracy)

    # In the model's forward pass: distributed training takes a parameter that is used later for an unused one.
    hook = module.register_forward_hook(losses)
    try:
        return model(**sample["net_input"], features_only=True), target
    finally:
        hook.remove()


@register_criterion("sliced_label_smoothed_cross_entropy", dataclass=LabelSmoothedCrossEntropyCriterionConfig)
class SlicedLabelSmoothedCrossEntropy(LabelSmoothedCrossEntropyCriterion):
    """``--criterion sliced_label_smoothed_cross_entropy``: label_smoothed_cross_entropy in less memory and time."""

    def forward(self, model: nn.Module, sample: dict[str, Any], reduce: bool = True) -> tuple[Any, Any, dict]:
        if not reduce:
            return super().forward(model, sample, reduce)
        losses, target = losses_of(
            "sliced_label_smoothed_cross_entropy",
            model,
            sample,
            self.padding_idx,
            self.eps,
            self.ignore_prefix_size,
            self.report_accuracy,
        )
        sample_size = sample["target"].size(0) if self.sentence_avg else sample["ntokens"]
        logging_output = {
            "loss": losses.loss.data,
            "nll_loss": losses.nll_loss,
            "ntokens": sample["ntokens"],
            "nsentences": sample["target"].size(0),
            "sample_size": sample_size,
        }
        if losses.correct is not None:
            logging_output["n_correct"] = losses.correct.item()
            logging_output["total"] = target.ne(self.padding_idx).sum().item()
        return losses.loss, sample_size, logging_output


# Checkpoints record the name of the class: runs with fairseq's criterion continue with this one, and the other way.
SlicedLabelSmoothedCrossEntropy.__name__ = LabelSmoothedCrossEntropyCriterion.__name__


@dataclass
class SlicedCrossEntropyConfig(CrossEntropyCriterionConfig):
    ignore_prefix_until: Optional[str] = field(
        default=None,
        metadata={
            "help": "the tokens of each sample up to the first one that is this symbol, and it, do not count in the "
            "loss: a language model then learns to answer, but not to predict the questions",
        },
    )


@register_criterion("sliced_cross_entropy", dataclass=SlicedCrossEntropyConfig)
class SlicedCrossEntropy(CrossEntropyCriterion):
    """``--criterion sliced_cross_entropy``: cross_entropy in less memory and time.

    Raises:
        InputError: the dictionary has no symbol ``ignore_prefix_until``, or a sample has none.
    """

    def __init__(self, task: Any, sentence_avg: bool, ignore_prefix_until: Optional[str] = None) -> None:
        super().__init__(task, sentence_avg)
        self.symbol, self.symbol_idx = ignore_prefix_until, None
        if ignore_prefix_until is not None:
            self.symbol_idx = task.target_dictionary.index(ignore_prefix_until)
            if self.symbol_idx == task.target_dictionary.unk():
                raise InputError(
                    f"--ignore-prefix-until {ignore_prefix_until} is not in the dictionary; give a token of the data"
                )

    def forward(self, model: nn.Module, sample: dict[str, Any], reduce: bool = True) -> tuple[Any, Any, dict]:
        if self.symbol_idx is not None:
            sample = self.without_prefixes(sample)
        if not reduce:
            return super().forward(model, sample, reduce)
        losses, _ = losses_of("sliced_cross_entropy", model, sample, self.padding_idx)
        sample_size = sample["target"].size(0) if self.sentence_avg else sample["ntokens"]
        logging_output = {
            "loss": losses.loss.data,
            "ntokens": sample["ntokens"],
            "nsentences": sample["target"].size(0),
            "sample_size": sample_size,
        }
        return losses.loss, sample_size, logging_output

    def without_prefixes(self, sample: dict[str, Any]) -> dict[str, Any]:
        """A sample whose target (B, T) is padding up to the symbol, and whose tokens are those that are left."""
        target = sample["target"]
        symbols = target.eq(self.symbol_idx)
        if not symbols.any(dim=1).all():
            raise InputError(
                f"a sample has no {self.symbol}, which --ignore-prefix-until names, so nothing of it would count; give "
                "each line of the data one, and --sample-break-mode eos"
            )
        # A symbol before a token: the cumulative sum counts those at the token, too.
        before = symbols.cumsum(dim=1) - symbols.long()
        target = target.masked_fill(before.eq(0), self.padding_idx)
        return {**sample, "target": target, "ntokens": int(target.ne(self.padding_idx).sum())}


SlicedCrossEntropy.__name__ = CrossEntropyCriterion.__name__
