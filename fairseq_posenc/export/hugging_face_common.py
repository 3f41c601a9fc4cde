"""What all models of Hugging Face's transformers have in common."""

from typing import Any

import torch

from fairseq_posenc.export.checkpoint import Trained
from fairseq_posenc.export.refusals import refuse

NAME = "transformers"

#: fairseq's ``--activation-fn`` -> the name in transformers.
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_accurate": "gelu_pytorch_tanh",
    "gelu_fast": "gelu_pytorch_tanh",
    "swish": "silu",
    "tanh": "tanh",
}

Weights = dict[str, torch.Tensor]


def check_decoder(trained: Trained) -> None:
    """Raise InputError for what no model of transformers has."""
    decoder = trained.model.decoder
    if trained.setting("activation_fn") not in ACTIVATIONS:
        raise refuse(trained, NAME, f"--activation-fn {trained.setting('activation_fn')}")
    if decoder.project_in_dim is not None or decoder.project_out_dim is not None:
        raise refuse(trained, NAME, "embeddings of another dimension than that of its layers")
    if trained.setting("decoder_normalize_before") and decoder.layer_norm is None:
        raise refuse(trained, NAME, "--no-decoder-final-norm")


def special_tokens(trained: Trained) -> dict[str, int]:
    """The numbers of the special tokens. A language model begins with the end of a sentence."""
    target = trained.dictionaries["target"]
    first = target.bos() if trained.translates else target.eos()
    return {"pad_token_id": target.pad(), "bos_token_id": first, "eos_token_id": target.eos()}


def settings_of_model(trained: Trained) -> dict[str, Any]:
    """Settings that have the same names in several configurations."""
    decoder = trained.model.decoder
    return {
        "d_model": trained.setting("decoder_embed_dim"),
        "activation_function": ACTIVATIONS[trained.setting("activation_fn")],
        "scale_embedding": decoder.embed_scale != 1,
        "max_position_embeddings": decoder.max_positions(),
        **{name: trained.setting(name) for name in ("dropout", "attention_dropout", "activation_dropout")},
        **special_tokens(trained),
    }


def parameters(trained: Trained) -> Weights:
    """The model's parameters by their names."""
    return {name: tensor for name, tensor in trained.model.state_dict().items() if not name.endswith(".version")}
