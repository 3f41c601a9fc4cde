"""The models and batches of the checks: small but realistic for a GPU, tiny for a CPU."""

from dataclasses import asdict, dataclass

import torch

from fairseq_posenc.analysis.build import architecture, build_model

STOCK = "stock"
TRANSLATION = "translation"
PADDING = 1


@dataclass(frozen=True)
class Sizes:
    """``length``: tokens per text in parity and kernels; ``lengths``: text lengths for time and memory."""

    device: str
    dim: int = 32
    heads: int = 4
    vocab_size: int = 60
    length: int = 48
    window: int = 8
    block: int = 16
    wide: int = 64
    lengths: tuple = (64, 128, 256)
    base: bool = False

    @property
    def families(self):
        return (TRANSLATION, "full", f"window:{self.window}", f"blockwise:{self.block}")

    def settings(self):
        """The fields for JSON, where the vocabulary size is called ``words``."""
        return {"words" if name == "vocab_size" else name: value for name, value in asdict(self).items()}


def sizes_of(device):
    """Sizes that suit a device."""
    if device == "cpu":
        return Sizes(device)
    return Sizes(device, 256, 4, 1000, 512, 64, 128, wide=512, lengths=(2048, 8192, 32768), base=True)


def cases(sizes, systems, families):
    """All pairs (system, family) that exist: stock fairseq has no attention patterns."""
    for system in systems:
        for family in sizes.families:
            if family.partition(":")[0] in families and (system != STOCK or family in (TRANSLATION, "full")):
                yield system, family


def build(sizes, system, family, dim=None, layers=2, length=None):
    """A model on the CPU, in training mode, without dropout.

    ``family`` is TRANSLATION or the attention pattern of a language model.
    """
    dim, sides = dim or sizes.dim, ("encoder", "decoder") if family == TRANSLATION else ("decoder",)
    flags = {"--dropout": 0, "--attention-dropout": 0}
    for side in sides:
        for name, value in (
            ("embed-dim", dim),
            ("ffn-embed-dim", dim),
            ("layers", layers),
            ("attention-heads", sizes.heads),
        ):
            flags[f"--{side}-{name}"] = value
    flags |= {
        "adaptive-t5": {"--adaptive-t5-dropout": 0},
        "posnet-embed": {"--posnet-beyond": "clamp"},
        "posnet-attn": {"--posnet-attn-beyond": "clamp"},
    }.get(system, {})
    if family == TRANSLATION:
        arch = "transformer_iwslt_de_en" if system == STOCK else architecture(system, "iwslt_de_en")
        argv = ["--share-all-embeddings"]
    else:
        arch = "transformer_lm" if system == STOCK else architecture(system, "tiny", "transformer_lm")
        argv = ["--task", "language_modeling", "--share-decoder-input-output-embed"]
        flags["--tokens-per-sample"] = length or sizes.length
        if system != STOCK:
            flags["--attention-pattern"] = family
    argv += [arg for pair in flags.items() for arg in pair]
    return build_model(arch, *argv, vocab_size=sizes.vocab_size).train()


def batch(sizes, family, length=None, texts=3):
    """(inputs, target): sentence pairs padded as fairseq pads them, or whole texts."""
    if family != TRANSLATION:
        text = sentences(sizes, [(length or sizes.length) + 1] * texts)
        return (text[:, :-1],), text[:, 1:]
    source, target = sentences(sizes, (11, 7, 9), left=True), sentences(sizes, (8, 10, 5))
    previous = torch.cat([torch.full((3, 1), 2), target[:, :-1]], 1).masked_fill(target == PADDING, PADDING)
    return (source, torch.tensor([11, 7, 9]), previous), target


def sentences(sizes, lengths, left=False):
    """Random tokens, every sentence with its end-of-sentence symbol, padded at the right or at the ``left``."""
    generator = torch.Generator().manual_seed(len(lengths) + left)
    rows = torch.full((len(lengths), max(lengths)), PADDING)
    for row, length in zip(rows, lengths):
        start = len(row) - length if left else 0
        row[start : start + length] = torch.randint(4, 4 + sizes.vocab_size, (length,), generator=generator)
        row[start + length - 1] = 2
    return rows


def moved(inputs, device):
    """The same tensors on a device."""
    return tuple(x.to(device) for x in inputs)
