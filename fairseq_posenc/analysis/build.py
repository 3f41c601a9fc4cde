"""Untrained models with an in-memory dictionary, built from flags as in ``fairseq-train``."""

from types import SimpleNamespace

import torch
from fairseq import models, options
from fairseq.data import Dictionary

import fairseq_posenc.models.language_model
import fairseq_posenc.models.transformer  # noqa: F401 (both register the architectures)


def dictionary(vocab_size):
    """A Dictionary of ``vocab_size`` words after fairseq's four special symbols."""
    result = Dictionary()
    for index in range(vocab_size):
        result.add_symbol(f"w{index}")
    return result


def architecture(encoding, size, model="transformer"):
    """The value of ``--arch`` for an encoding and a size; ``model`` is "transformer" or "transformer_lm"."""
    return f"{model}_{encoding.replace('-', '_')}_{size}"


def build_model(arch, *flags, vocab_size, target_vocab_size=None, seed=0):
    """The initial model of ``fairseq-train --arch ARCH FLAGS``, in evaluation mode.

    Args:
        arch: architecture, of fairseq or of this package.
        flags: further command-line arguments.
        vocab_size: size of the dictionary without special symbols.
        target_vocab_size: size of a separate target dictionary; None: source and target share one dictionary.
        seed: of the initial weights.
    """
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, ["no-data", "--arch", arch, *map(str, flags)])
    source = dictionary(vocab_size)
    target = source if target_vocab_size is None else dictionary(target_vocab_size)
    task = SimpleNamespace(source_dictionary=source, target_dictionary=target)
    torch.manual_seed(seed)
    return models.build_model(args, task).eval()
