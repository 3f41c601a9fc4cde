"""The language model ``transformer_lm_posenc`` and its architectures, one for each encoding and size."""

import ast
import dataclasses
from argparse import ArgumentParser, Namespace
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import register_model
from fairseq.models.transformer import Embedding, TransformerConfig
from fairseq.models.transformer_lm import (
    DEFAULT_MAX_TARGET_POSITIONS,
    TransformerLanguageModel,
    TransformerLanguageModelConfig,
    base_lm_architecture,
)
from fairseq.modules import AdaptiveInput, CharacterTokenEmbedder
from torch import nn

from fairseq_posenc.attention.patterns import FULL, Pattern, attention_pattern
from fairseq_posenc.encodings import encoding_class
from fairseq_posenc.linear import use_faster_products
from fairseq_posenc.models.architectures import register_architectures
from fairseq_posenc.models.checks import (
    check_adaptive,
    check_cache_size,
    check_checkpoint,
    check_layers,
    check_sinks,
    check_stock_flags,
    check_tied,
)
from fairseq_posenc.models.configuration import configuration, given_settings, record_settings
from fairseq_posenc.models.decoder import Decoder
from fairseq_posenc.models.finetuning import Origin, load
from fairseq_posenc.models.language_model_sizes import SIZES
from fairseq_posenc.models.options import (
    add_encoding_flags,
    add_pattern_flags,
    settle_distance,
    settle_numbering,
    settle_options,
    settle_scale,
)
from fairseq_posenc.models.packed import pack_linear_layers
from fairseq_posenc.models.pruning import drop_encodings_of_pruned_layers, prune_encodings
from fairseq_posenc.models.stack import build_encodings, self_attentions, use_distance, use_numbering

SIDES = ("decoder",)
#: Settings that task and model have in common.
OF_TASK = ("add_bos_token", "tokens_per_sample", "max_target_positions")


def add_flags(parser: ArgumentParser) -> None:
    """All flags of the model."""
    gen_parser_from_dataclass(parser, TransformerLanguageModelConfig(), delete_default=True)
    add_encoding_flags(parser)
    add_pattern_flags(parser)


TransformerLanguageModelPosencConfig = configuration("transformer_lm_posenc", add_flags, OF_TASK)


@register_model("transformer_lm_posenc", dataclass=TransformerLanguageModelPosencConfig)
class PositionEncodingLanguageModel(TransformerLanguageModel):
    """fairseq's Transformer language model with a choice of positional encodings.

    With ``--position-encoding sinusoidal`` or ``learned`` it is the stock model, weight for weight and output for
    output.

    Attention: ``--attention-pattern`` says which earlier tokens are seen, in training and, by ``--model-overrides``, at
    evaluation; ``--cache-size`` what generation keeps of them.

    Length: an encoding without a limit of its own takes samples as long as those that the task at hand reads
    (``--tokens-per-sample``, ``--max-target-positions``), however long the training samples were. With a limit, such
    as the rows of ``learned``, the model keeps it.
    """

    #: Where ``--finetune-from-model`` loads a checkpoint: which one.
    origin: Origin | None = None

    @classmethod
    def hub_models(cls) -> dict[str, Any]:
        return {}

    @classmethod
    def add_args(cls, parser: ArgumentParser) -> None:
        add_flags(parser)

    @classmethod
    def build_model(cls, args: Any, task: Any) -> "PositionEncodingLanguageModel":
        config, args = args, given_settings(args)
        base_lm_architecture(args)
        settle_stock_flags(args)
        settle_encoding(args)
        pattern = settle_pattern(args)
        numbering = settle_numbering(args)
        distance = settle_distance(args)
        settle_scale(args)
        check_layers(args, SIDES)
        check_tied(args)
        check_adaptive(args, len(task.source_dictionary))
        drop_encodings_of_pruned_layers(args, SIDES)
        args.position_encoding = args.decoder_position_encoding
        if args.decoder_layers_to_keep:
            args.decoder_layers = len(args.decoder_layers_to_keep.split(","))
        if getattr(args, "max_target_positions", None) is None:
            args.max_target_positions = getattr(args, "tokens_per_sample", None) or DEFAULT_MAX_TARGET_POSITIONS
        record_settings(config, args)

        embed_tokens = build_embedding(args, task.source_dictionary)
        cfg = TransformerConfig.from_namespace(args)
        encodings = build_encodings(cfg, "decoder", task.source_dictionary.pad())
        decoder = Decoder(cfg, task.target_dictionary, embed_tokens, encodings, no_encoder_attn=True)
        for attention in self_attentions(decoder):
            attention.use_pattern(pattern, args.cache_size)
        use_numbering(decoder, numbering)
        use_distance(decoder, distance)
        if decoder.embed_positions.max_positions is None:
            decoder.max_target_positions = max(args.max_target_positions, sample_length(task))
        model = cls(decoder)
        use_faster_products(model)
        return model

    def prepare_for_inference_(self, cfg: Any) -> None:
        super().prepare_for_inference_(cfg)
        pack_linear_layers(self)

    def load_state_dict(
        self,
        state_dict: dict[str, torch.Tensor],
        strict: bool = True,
        model_cfg: Any = None,
        args: Namespace | None = None,
    ) -> Any:
        check_checkpoint(self, state_dict)
        prune_encodings(self, state_dict, model_cfg or args, SIDES)
        stock = super().load_state_dict
        return load(self, state_dict, SIDES, lambda: stock(state_dict, strict, model_cfg, args))


def settle_stock_flags(args: Namespace) -> None:
    """Write fairseq's default of every flag that neither the command line nor the architecture has set."""
    for field in dataclasses.fields(TransformerLanguageModelConfig):
        # A default such as ${task.add_bos_token} belongs to another part of the configuration.
        if not (hasattr(args, field.name) or str(field.default).startswith("${")):
            setattr(args, field.name, field.default)


def settle_encoding(args: Namespace) -> None:
    """Write the encoding and all its options into ``args``. Raises InputError on bad values."""
    args.position_encoding = encoding_class(getattr(args, "position_encoding", None) or "sinusoidal").name
    args.decoder_position_encoding = args.position_encoding
    check_stock_flags(args, SIDES)
    settle_options(args, {args.position_encoding})


def settle_pattern(args: Namespace) -> Pattern:
    """Write the attention pattern and the size of the cache into ``args``; return the pattern."""
    pattern = attention_pattern(getattr(args, "attention_pattern", None) or FULL)
    args.attention_pattern = str(pattern)
    args.cache_size = getattr(args, "cache_size", None)
    check_cache_size(args)
    check_sinks(pattern, encoding_class(args.position_encoding))
    return pattern


def build_embedding(args: Namespace, dictionary: Dictionary) -> nn.Module:
    """Token embeddings as fairseq's language model has them: a table, adaptive, or of characters."""
    if args.character_embeddings:
        return CharacterTokenEmbedder(
            dictionary,
            ast.literal_eval(args.character_filters),
            args.character_embedding_dim,
            args.decoder_embed_dim,
            args.char_embedder_highway_layers,
        )
    if args.adaptive_input:
        return AdaptiveInput(
            len(dictionary),
            dictionary.pad(),
            args.decoder_input_dim,
            args.adaptive_input_factor,
            args.decoder_embed_dim,
            [int(cutoff) for cutoff in args.adaptive_input_cutoff.split(",")],
            args.quant_noise_pq,
            args.quant_noise_pq_block_size,
        )
    return Embedding(len(dictionary), args.decoder_input_dim, dictionary.pad())


def sample_length(task: Any) -> int:
    """The longest sample that ``task`` reads, in tokens; 0 where it does not say."""
    settings = getattr(task, "args", None)
    return getattr(settings, "max_target_positions", None) or getattr(settings, "tokens_per_sample", None) or 0


register_architectures("transformer_lm_posenc", "transformer_lm", SIZES)
