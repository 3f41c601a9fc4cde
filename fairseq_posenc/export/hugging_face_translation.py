"""Translation models of Hugging Face's transformers."""

from typing import Any

import transformers

from fairseq_posenc.export.checkpoint import Trained
from fairseq_posenc.export.hugging_face_common import NAME, Weights, parameters, settings_of_model
from fairseq_posenc.export.refusals import refuse

#: (encoding, pre-norm, --layernorm-embedding) -> the model. All but FSMT have one table of embeddings.
FAMILIES = {
    ("sinusoidal", False, False): "FSMT",
    ("sinusoidal", True, False): "M2M100",
    ("learned", False, True): "Bart",
    ("learned", True, True): "MBart",
}


def translation(trained: Trained) -> tuple[Any, Weights]:
    """A new model, and the weights that belong into it. Raises InputError if transformers has no such model."""
    family = family_of(trained)
    encoder, decoder = trained.model.encoder, trained.model.decoder
    sizes = {
        f"{side}_{name}": trained.setting(f"{side}_{ours}")
        for side in trained.stacks
        for name, ours in (
            ("layers", "layers"),
            ("ffn_dim", "ffn_embed_dim"),
            ("attention_heads", "attention_heads"),
        )
    }
    sizes |= {f"{side}_layerdrop": float(trained.setting(f"{side}_layerdrop") or 0) for side in trained.stacks}
    weights = {f"model.{name}": tensor for name, tensor in parameters(trained).items()}
    if family == "FSMT":
        words = {
            "src_vocab_size": encoder.embed_tokens.num_embeddings,
            "tgt_vocab_size": decoder.embed_tokens.num_embeddings,
            "langs": [trained.task.cfg.source_lang, trained.task.cfg.target_lang],
        }
    else:
        words = {"vocab_size": encoder.embed_tokens.num_embeddings}
        weights["lm_head.weight"] = weights.pop("model.decoder.output_projection.weight")
        weights["model.shared.weight"] = encoder.embed_tokens.weight
    config = getattr(transformers, f"{family}Config")(
        **settings_of_model(trained),
        **sizes,
        **words,
        decoder_start_token_id=decoder.dictionary.eos(),
        forced_eos_token_id=decoder.dictionary.eos(),
    )
    return getattr(transformers, f"{family}ForConditionalGeneration")(config), weights


def family_of(trained: Trained) -> str:
    """The name of the model."""
    kinds = {side: kind_of(trained, side) for side in trained.stacks}
    if kinds["encoder"] != kinds["decoder"]:
        raise refuse(
            trained, NAME, f"encoder with {shown(kinds['encoder'])} and decoder with {shown(kinds['decoder'])}"
        )
    kind = kinds["encoder"]
    if kind not in FAMILIES:
        raise refuse(trained, NAME, f"translation model with {shown(kind)}")
    if trained.setting("encoder_embed_dim") != trained.setting("decoder_embed_dim"):
        raise refuse(trained, NAME, "encoder and decoder of different dimensions")
    if kind[0] == "learned" and trained.model.encoder.max_positions() != trained.model.decoder.max_positions():
        raise refuse(trained, NAME, "--max-source-positions that differ from --max-target-positions")
    if FAMILIES[kind] != "FSMT" and not trained.setting("share_all_embeddings"):
        raise refuse(trained, NAME, f"translation model with {shown(kind)} without --share-all-embeddings")
    return FAMILIES[kind]


def kind_of(trained: Trained, side: str) -> tuple[str, bool, bool]:
    """The key of FAMILIES for a side."""
    stack = trained.stacks[side]
    pre_norm = bool(trained.setting(f"{side}_normalize_before"))
    return stack.embed_positions.name, pre_norm, stack.layernorm_embedding is not None


def shown(kind: tuple[str, bool, bool]) -> str:
    """A key of FAMILIES for messages."""
    name, pre_norm, norm = kind
    return f"{name}, {'pre' if pre_norm else 'post'}-norm, {'with' if norm else 'no'} --layernorm-embedding"
