"""What the encoder and the decoder do alike with their encoding."""

import copy

from fairseq_posenc.encodings.sinusoidal import Sinusoidal


def without_stock_positions(cfg):
    """A copy of ``cfg`` for fairseq's constructors, which then build no position embeddings of their own."""
    cfg = copy.copy(cfg)
    cfg.no_token_positional_embeddings = True
    return cfg


def install_encoding(stack, encoding):
    """Give an encoder or decoder its encoding, and each layer's self-attention too where the encoding acts there."""
    stack.embed_positions = encoding
    if encoding.acts_on_attention():
        # Not by iteration: with layerdrop that leaves out layers at random.
        for layer in stack.layers.children():
            layer.self_attn.position_encoding = encoding


def drop_stock_tables(state_dict, name, encoding):
    """Remove the sinusoid buffers that stock checkpoints hold: ours computes its table.

    They stay in the way of every other encoding on purpose: a model trained with sinusoids must not load as one.
    """
    if isinstance(encoding, Sinusoidal):
        for buffer in ("_float_tensor", "weights"):
            state_dict.pop(f"{name}.embed_positions.{buffer}", None)


def max_positions(stock_limit, encoding):
    """The longest sentence: fairseq's limit, or that of the encoding where it is shorter."""
    return stock_limit if encoding.max_positions is None else min(stock_limit, encoding.max_positions)
