"""Models in CTranslate2's format."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from ctranslate2.specs import (
    Activation,
    TransformerDecoderModelSpec,
    TransformerDecoderSpec,
    TransformerEncoderSpec,
    TransformerSpec,
)
from torch import nn

from fairseq_posenc.export.checkpoint import Trained
from fairseq_posenc.export.ctranslate2_positions import NAME, options_of, set_positions
from fairseq_posenc.export.refusals import check_plain, refuse

#: fairseq's ``--activation-fn`` -> CTranslate2's activation.
ACTIVATIONS = {
    "relu": Activation.RELU,
    "gelu": Activation.GELU,
    "gelu_accurate": Activation.GELUTanh,
    "gelu_fast": Activation.GELUTanh,
    "swish": Activation.SWISH,
    "tanh": Activation.Tanh,
}

#: A logit with the probability 0, within the range of fp16.
IMPOSSIBLE = -1e4


def specification(trained: Trained) -> Any:
    """CTranslate2's specification of a model, with its weights and its dictionaries.

    Raises InputError for what the format cannot say.
    """
    check_plain(trained, NAME)
    options = {side: {**layer_options(trained, side), **options_of(trained, side)} for side in trained.stacks}
    words = {side: dictionary.symbols for side, dictionary in trained.dictionaries.items()}
    target = trained.dictionaries["target"]
    special = {"unk_token": target.unk_word, "bos_token": target.bos_word, "eos_token": target.eos_word}
    if not trained.translates:
        spec = TransformerDecoderModelSpec(decoder_spec(trained, with_encoder_attention=False, **options["decoder"]))
        spec.register_vocabulary(words["target"])
        special["bos_token"] = target.eos_word  # fairseq's language models begin with the end of a sentence
    else:
        spec = TransformerSpec(encoder_spec(trained, **options["encoder"]), decoder_spec(trained, **options["decoder"]))
        spec.register_source_vocabulary(words["source"])
        spec.register_target_vocabulary(words["target"])
        spec.config.decoder_start_token = target.eos_word
        spec.config.add_source_eos = True
        never_generate(spec.decoder.projection, target.pad())
    for name, word in special.items():
        setattr(spec.config, name, word)
    return spec


def write(trained: Trained, folder: Path, quantization: str | None) -> None:
    """Write the model into a folder; ``quantization``: of CTranslate2, None for fp32."""
    spec = specification(trained)
    spec.validate()
    spec.optimize(quantization=quantization or "float32")
    spec.save(str(folder))


def layer_options(trained: Trained, side: str) -> dict[str, Any]:
    """What the specification of a side is built with for its layers."""
    stack, activation = trained.stacks[side], trained.setting("activation_fn")
    if activation not in ACTIVATIONS:
        raise refuse(trained, NAME, f"--activation-fn {activation}")
    return {
        "num_layers": stack.num_layers,
        "num_heads": trained.setting(f"{side}_attention_heads"),
        "pre_norm": trained.setting(f"{side}_normalize_before"),
        "no_final_norm": stack.layer_norm is None,
        "activation": ACTIVATIONS[activation],
        "layernorm_embedding": stack.layernorm_embedding is not None,
    }


def encoder_spec(trained: Trained, **options: Any) -> TransformerEncoderSpec:
    stack, spec = trained.model.encoder, TransformerEncoderSpec(**options)
    set_side(spec, stack)
    set_embedding(spec.embeddings[0], stack)
    return spec


def decoder_spec(trained: Trained, **options: Any) -> TransformerDecoderSpec:
    stack = trained.model.decoder
    projects = {"project_in": stack.project_in_dim, "project_out": stack.project_out_dim}
    spec = TransformerDecoderSpec(project_in_out=any(layer is not None for layer in projects.values()), **options)
    for name, layer in projects.items():
        if layer is not None:
            set_linear(getattr(spec, name), layer)
        elif hasattr(spec, name):
            delattr(spec, name)
    set_side(spec, stack)
    set_embedding(spec.embeddings, stack)
    set_linear(spec.projection, stack.output_projection)
    return spec


def set_side(spec: Any, stack: Any) -> None:
    """What encoder and decoder have alike."""
    spec.scale_embeddings = stack.embed_scale
    set_positions(spec, stack)
    for name in ("layer_norm", "layernorm_embedding"):
        norm = getattr(stack, name)
        if norm is not None:
            set_norm(getattr(spec, name), norm)
    for part, layer in zip(spec.layer, stack.layers.children()):
        set_self_attention(part.self_attention, layer.self_attn)
        set_norm(part.self_attention.layer_norm, layer.self_attn_layer_norm)
        if hasattr(part, "attention"):
            set_cross_attention(part.attention, layer.encoder_attn)
            set_norm(part.attention.layer_norm, layer.encoder_attn_layer_norm)
        set_linear(part.ffn.linear_0, layer.fc1)
        set_linear(part.ffn.linear_1, layer.fc2)
        set_norm(part.ffn.layer_norm, layer.final_layer_norm)


def set_self_attention(spec: Any, attention: Any) -> None:
    set_linear(spec.linear[0], attention.q_proj, attention.k_proj, attention.v_proj)
    set_linear(spec.linear[1], attention.out_proj)


def set_cross_attention(spec: Any, attention: Any) -> None:
    set_linear(spec.linear[0], attention.q_proj)
    set_linear(spec.linear[1], attention.k_proj, attention.v_proj)
    set_linear(spec.linear[2], attention.out_proj)


def set_embedding(spec: Any, stack: Any) -> None:
    spec.weight = joined([stack.embed_tokens.weight])


def set_linear(spec: Any, *layers: Any) -> None:
    """One matrix product for several layers with the same input."""
    spec.weight = joined([layer.weight for layer in layers])
    if layers[0].bias is not None:
        spec.bias = joined([layer.bias for layer in layers])


def never_generate(projection: Any, token: int) -> None:
    """Leave no probability for a token: fairseq's beam search never chooses padding, CTranslate2's may."""
    bias = np.zeros(len(projection.weight), dtype=np.float32) if not projection.has_bias() else projection.bias
    bias[token] = IMPOSSIBLE
    projection.bias = bias


def set_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = norm.weight.numpy(), norm.bias.numpy()


def joined(tensors: list[torch.Tensor]) -> Any:
    # A copy also of a single one: quantization writes into it.
    return torch.cat(tensors).numpy()
