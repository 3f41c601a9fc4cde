"""Models from command-line flags and a dictionary in memory, as fairseq-train builds them."""

from types import SimpleNamespace

import torch
from fairseq import models, options
from fairseq.data import Dictionary

import fairseq_posenc.models.transformer  # noqa: F401 (registers the architectures)
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
    from fairseq_posenc.encodings import encoding_class

    flags = dict(SMALL)
    for argument, value in CASES[encoding].options.items():
        flags[encoding_class(encoding).flags[argument].name] = value
    return [str(word) for pair in flags.items() for word in pair]


def dictionary(words=20):
    d = Dictionary()
    for index in range(words):
        d.add_symbol(f"w{index}")
    return d


def build_model(arch, *flags, words=20, target_words=None):
    """The model that ``fairseq-train --arch ARCH FLAGS`` would train, in evaluation mode."""
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, ["no-data", "--arch", arch, *map(str, flags)])
    source = dictionary(words)
    target = source if target_words is None else dictionary(target_words)
    task = SimpleNamespace(source_dictionary=source, target_dictionary=target)
    torch.manual_seed(0)
    return models.build_model(args, task).eval()


def architecture(encoding):
    return f"transformer_{encoding.replace('-', '_')}_iwslt_de_en"


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
