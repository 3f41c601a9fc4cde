"""Language models of Hugging Face's transformers."""

from typing import Any

import torch
import transformers

from fairseq_posenc.export.checkpoint import Trained
from fairseq_posenc.export.hugging_face_common import NAME, Weights, parameters, settings_of_model, special_tokens
from fairseq_posenc.export.refusals import refuse
from fairseq_posenc.export.rotary import rotary_of

#: BioGPT's names of settings.
BIOGPT = {
    "d_model": "hidden_size",
    "activation_function": "hidden_act",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "num_layers": "num_hidden_layers",
    "attention_heads": "num_attention_heads",
    "ffn_dim": "intermediate_size",
}


def language_model(trained: Trained) -> tuple[Any, Weights]:
    """A new model, and the weights that belong into it. Raises InputError if transformers has no such model."""
    decoder, encoding = trained.model.decoder, trained.model.decoder.embed_positions.name
    if encoding not in FAMILIES:
        raise refuse(trained, NAME, f"language model with {encoding} and the layers of fairseq")
    if decoder.layernorm_embedding is not None:
        raise refuse(trained, NAME, f"language model with {encoding} and --layernorm-embedding")
    return FAMILIES[encoding](trained)


def xglm(trained: Trained) -> tuple[Any, Weights]:
    """Sinusoids: XGLM, which comes from fairseq."""
    weights = own_weights(trained)
    output = weights.pop("output_projection.weight")
    weights = {**{f"model.{name}": tensor for name, tensor in weights.items()}, "lm_head.weight": output}
    return transformers.XGLMForCausalLM(transformers.XGLMConfig(**settings_of_decoder(trained))), weights


def biogpt(trained: Trained) -> tuple[Any, Weights]:
    """Learned positions: BioGPT, which comes from fairseq."""
    settings = {BIOGPT.get(name, name): value for name, value in settings_of_decoder(trained).items()}
    config = transformers.BioGptConfig(layer_norm_eps=1e-5, **settings)
    weights = own_weights(trained)
    output = weights.pop("output_projection.weight")
    weights = {**{f"biogpt.{name}": tensor for name, tensor in weights.items()}, "output_projection.weight": output}
    return transformers.BioGptForCausalLM(config), weights


def settings_of_decoder(trained: Trained) -> dict[str, Any]:
    """XGLM's settings."""
    return {
        **settings_of_model(trained),
        "vocab_size": trained.model.decoder.embed_tokens.num_embeddings,
        "num_layers": trained.model.decoder.num_layers,
        "attention_heads": trained.setting("decoder_attention_heads"),
        "ffn_dim": trained.setting("decoder_ffn_embed_dim"),
        "tie_word_embeddings": bool(trained.setting("share_decoder_input_output_embed")),
        "layerdrop": float(trained.setting("decoder_layerdrop") or 0),
    }


def own_weights(trained: Trained) -> Weights:
    return {name.removeprefix("decoder."): tensor for name, tensor in parameters(trained).items()}


def neox(trained: Trained) -> tuple[Any, Weights]:
    """RoPE: GPT-NeoX."""
    return transformers.GPTNeoXForCausalLM(neox_config(trained)), neox_weights(trained)


def neox_config(trained: Trained) -> Any:
    """GPT-NeoX with one residual connection after the other."""
    settings, encoding = settings_of_decoder(trained), trained.model.decoder.embed_positions
    rotary = rotary_of(trained, encoding, NAME)
    scaling = {"rope_type": "default"} if rotary.divisor == 1 else {"rope_type": "linear", "factor": rotary.divisor}
    # transformers rounds the number of dimensions down.
    share = (rotary.dim + 0.01) / encoding.stack.head_dim
    return transformers.GPTNeoXConfig(
        vocab_size=settings["vocab_size"],
        hidden_size=settings["d_model"],
        num_hidden_layers=settings["num_layers"],
        num_attention_heads=settings["attention_heads"],
        intermediate_size=settings["ffn_dim"],
        hidden_act=settings["activation_function"],
        hidden_dropout=settings["dropout"],
        attention_dropout=settings["attention_dropout"],
        max_position_embeddings=settings["max_position_embeddings"],
        use_parallel_residual=False,
        rope_parameters={"rope_theta": rotary.base, "partial_rotary_factor": share, **scaling},
        **special_tokens(trained),
    )


def neox_weights(trained: Trained) -> Weights:
    """It turns the first half of dimensions against the second, where ours turn neighbours against each other."""
    decoder = trained.model.decoder
    rotary = rotary_of(trained, decoder.embed_positions, NAME)
    heads = trained.setting("decoder_attention_heads")
    order = torch.arange(decoder.embed_positions.stack.head_dim)
    order[: rotary.dim] = torch.cat([order[0 : rotary.dim : 2], order[1 : rotary.dim : 2]])

    def joined(attention: Any, kind: str) -> torch.Tensor:
        parts = [getattr(getattr(attention, f"{name}_proj"), kind).unflatten(0, (heads, -1)) for name in "qkv"]
        return torch.stack([parts[0][:, order], parts[1][:, order], parts[2]], dim=1).flatten(0, 2)

    weights = {
        "gpt_neox.embed_in.weight": decoder.embed_scale * decoder.embed_tokens.weight,
        "lm_head.weight": decoder.output_projection.weight,
    }
    modules = {"gpt_neox.final_layer_norm": decoder.layer_norm}
    for index, layer in enumerate(decoder.layers.children()):
        name = f"gpt_neox.layers.{index}"
        modules |= {
            f"{name}.input_layernorm": layer.self_attn_layer_norm,
            f"{name}.post_attention_layernorm": layer.final_layer_norm,
            f"{name}.attention.dense": layer.self_attn.out_proj,
            f"{name}.mlp.dense_h_to_4h": layer.fc1,
            f"{name}.mlp.dense_4h_to_h": layer.fc2,
        }
        for kind in ("weight", "bias"):
            weights[f"{name}.attention.query_key_value.{kind}"] = joined(layer.self_attn, kind)
    for name, module in modules.items():
        weights |= {f"{name}.weight": module.weight, f"{name}.bias": module.bias}
    return weights


#: Encoding -> what makes its model. All are pre-norm.
FAMILIES = {"sinusoidal": xglm, "learned": biogpt, "rope": neox}
