"""Models from command-line flags and a dictionary in memory, as fairseq-train builds them."""

import torch

from fairseq_posenc.analysis.build import architecture as architecture_of_size
from fairseq_posenc.analysis.build import build_model as build_model_of_words
from fairseq_posenc.encodings import encoding_class
from tests.encodings.cases import CASES

SMALL = {
    "--encoder-layers": 2,
    "--decoder-layers": 2,
    "--encoder-embed-dim": 16,
    "--decoder-embed-dim": 16,
    "--encoder-ffn-embed-dim": 24,
    "--decoder-ffn-embed-dim": 24,
    "--encoder-attention-heads": 2,
    "--decoder-attention-heads": 2,
    "--dropout": 0,
}


def small_flags(encoding):
    """Command-line words for a small model with the options of the encoding's test row."""
    flags = dict(SMALL)
    for argument, value in CASES[encoding].options.items():
        flags[encoding_class(encoding).flags[argument].name] = value
    return [str(word) for pair in flags.items() for word in pair]


def build_model(arch, *flags, words=20, target_words=None):
    return build_model_of_words(arch, *flags, words=words, target_words=target_words)


def architecture(encoding):
    return architecture_of_size(encoding, "iwslt_de_en")


def build_small(encoding, *flags, **options):
    """A small model with one encoding."""
    return build_model(architecture(encoding), *small_flags(encoding), *flags, **options)


def batch(lengths=(6, 3, 5), target_lengths=(4, 6, 2), left_pad_source=True, left_pad_target=False, words=20, seed=0):
    """src_tokens and prev_output_tokens (B, T), padded on the sides asked for, and their lengths."""
    generator = torch.Generator().manual_seed(seed)

    def side(lengths, left, ends):
        tokens = torch.full((len(lengths), max(lengths)), 1)
        for row, length in enumerate(lengths):
            sentence = torch.randint(4, 4 + words, (length,), generator=generator)
            sentence[-1 if ends else 0] = 2
            start = max(lengths) - length if left else 0
            tokens[row, start : start + length] = sentence
        return tokens

    return {
        "src_tokens": side(lengths, left_pad_source, True),
        "src_lengths": torch.tensor(lengths),
        "prev_output_tokens": side(target_lengths, left_pad_target, False),
    }
