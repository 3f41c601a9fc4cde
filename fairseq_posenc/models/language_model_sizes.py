"""The sizes of language models: what their architectures set."""

from argparse import Namespace
from typing import Any

from fairseq.models.transformer_lm import base_lm_architecture, transformer_lm_baevski_wiki103

from fairseq_posenc.models.architectures import Architecture


def size(**settings: Any) -> Architecture:
    """A fairseq architecture that sets these where the command line has not."""

    def architecture(args: Namespace) -> None:
        for name, value in settings.items():
            if getattr(args, name, None) is None:
                setattr(args, name, value)
        base_lm_architecture(args)

    return architecture


def transformer(layers: int, dim: int, heads: int, dropout: float) -> Architecture:
    """Layers of ``dim`` with feed-forward layers of 4 x ``dim`` and GELU, as all GPT-like models have."""
    return size(
        decoder_layers=layers,
        decoder_embed_dim=dim,
        decoder_ffn_embed_dim=4 * dim,
        decoder_attention_heads=heads,
        dropout=dropout,
        attention_dropout=dropout,
        activation_fn="gelu",
    )


#: tiny: trains on two cores. base: Chi et al. 2023, Table 7, who use no dropout; input and output embeddings are not
#: shared, as their 162 M parameters tell. gpt2_medium: Sun et al. 2023, section 4.1 (fairseq's own architecture of that
#: name is another, of 36 layers); dropout as in fairseq's GPT-2, since the paper gives none. wiki103: fairseq's, with
#: adaptive input and softmax.
SIZES = {
    "tiny": transformer(layers=4, dim=128, heads=4, dropout=0.0),
    "base": transformer(layers=12, dim=768, heads=12, dropout=0.0),
    "gpt2_medium": transformer(layers=24, dim=1024, heads=16, dropout=0.1),
    "wiki103": transformer_lm_baevski_wiki103,
}
