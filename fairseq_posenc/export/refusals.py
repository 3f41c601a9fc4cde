"""What no format of another program can say: refused in one line, before anything is written."""

from torch import nn

from fairseq_posenc.errors import InputError
from fairseq_posenc.export.checkpoint import Trained

#: Settings of a model that change what it computes -> the value with which they change nothing.
PLAIN = {
    "positions": "index",
    "distance": "plain",
    "attention_scale": "plain",
    "attention_pattern": "full",
    "cache_size": None,
    "alignment_layer": None,
    "alignment_heads": None,
    "full_context_alignment": False,
    "encoder_layers_to_keep": None,
    "decoder_layers_to_keep": None,
    "no_cross_attention": False,
    "adaptive_input": False,
    "adaptive_softmax_cutoff": None,
    "character_embeddings": False,
    "scale_fc": False,
    "scale_attn": False,
    "scale_heads": False,
    "scale_resids": False,
}


def refuse(trained: Trained, target: str, what: str) -> InputError:
    """The error of a model with ``what``, which the format of ``target`` cannot say."""
    return InputError(f"{trained.path}: {target} has no {what}; --to torch-export takes every model")


def check_plain(trained: Trained, target: str) -> None:
    """Raise InputError for a model with settings that no other program knows.

    ``target``: the name of the program.
    """
    for name, plain in PLAIN.items():
        value = trained.setting(name)
        if value and value != plain:
            shown = "" if value is True else f" {value}"
            raise refuse(trained, target, f"--{name.replace('_', '-')}{shown}")
    for stack in trained.stacks.values():
        if not isinstance(stack.embed_tokens, nn.Embedding):
            raise refuse(trained, target, "token embeddings that are no one table")
