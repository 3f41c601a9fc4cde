"""Untrained models with a dictionary in memory, built from flags as ``fairseq-train`` builds them."""

from types import SimpleNamespace

import torch
from fairseq import models, options
from fairseq.data import Dictionary

import fairseq_posenc.models.language_model
import fairseq_posenc.models.transformer  # noqa: F401 (both register the architectures)


def dictionary(words):
    """fairseq's four special symbols, then ``words`` words."""
    result = Dictionary()
    for index in range(words):
        result.add_symbol(f"w{index}")
    return result


def architecture(encoding, size, model="transformer"):
    """The name after ``--arch`` of an encoding in a size; ``model`` is "transformer" or "transformer_lm"."""
    return f"{model}_{encoding.replace('-', '_')}_{size}"


def build_model(arch, *flags, words, target_words=None, seed=0):
    """The model that ``fairseq-train --arch ARCH FLAGS`` would start with, in evaluation mode.

    Args:
        arch: architecture, of fairseq or of this package.
        flags: further command-line words.
        words: size of the dictionary without special symbols; of the source where ``target_words`` is given.
        seed: of the initial weights.
    """
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, ["no-data", "--arch", arch, *map(str, flags)])
    source = dictionary(words)
    target = source if target_words is None else dictionary(target_words)
    task = SimpleNamespace(source_dictionary=source, target_dictionary=target)
    torch.manual_seed(seed)
    return models.build_model(args, task).eval()
