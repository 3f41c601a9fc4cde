"""The workloads of measurements: untrained models of a size, and their input batches."""

from argparse import Namespace
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import ClassVar, Optional

import torch

from fairseq_posenc.analysis.build import architecture, build_model
from fairseq_posenc.analysis.precision import autocasting, in_precision
from fairseq_posenc.models.language_model import SIZES as LANGUAGE_MODEL_SIZES

STOCK = "stock"


@dataclass(frozen=True)
class Workload:
    """Models with a vocabulary of ``vocab_size``, on a device, in a precision (precision.py)."""

    vocab_size: int = 40_000
    device: str = "cpu"
    precision: str = "fp32"

    def build(self, arch, flags):
        """The untrained model of an architecture, in evaluation mode."""
        return in_precision(build_model(arch, *flags, vocab_size=self.vocab_size), self.precision).to(self.device)

    def settings(self):
        """The fields for JSON, where the vocabulary size is called ``words``."""
        return {"words" if name == "vocab_size" else name: value for name, value in asdict(self).items()}

    def random_tokens(self, sentences, length, count=1):
        """``count`` tensors (sentences, length) of random tokens without padding, the same at every call."""
        generator = torch.Generator().manual_seed(0)
        shape = (sentences, length)
        return [torch.randint(4, 4 + self.vocab_size, shape, generator=generator).to(self.device) for _ in range(count)]

    def autocasting(self):
        return autocasting(self.precision, self.device)

    @contextmanager
    def inference(self):
        with torch.no_grad(), self.autocasting():
            yield


@dataclass(frozen=True)
class Translation(Workload):
    """``sentences`` pairs of ``length`` tokens each, on models of ``size``."""

    task: ClassVar[str] = "translation"
    size: str = "wmt_en_de"
    length: int = 32
    sentences: int = 32
    beam: Optional[int] = 4

    @property
    def tokens(self):
        return self.length * self.sentences

    def model(self, system):
        return self.build(*self.arguments(system))

    def arguments(self, system):
        """The architecture of a system, and its other flags in ``fairseq-train``."""
        arch = f"transformer_{self.size}" if system == STOCK else architecture(system, self.size)
        # Tables of absolute positions have fairseq's default of 1024 rows, or more if needed: generation takes one
        # position more than the length, for the end of the sentence.
        rows = max(1024, self.length + 1)
        return arch, ["--share-all-embeddings", "--max-source-positions", rows, "--max-target-positions", rows]

    def batch(self):
        """Source, previous output and target, (sentences, length) each."""
        return self.random_tokens(self.sentences, self.length, count=3)

    def inputs(self):
        """The arguments of the model for a batch."""
        source, previous, _ = self.batch()
        return source, None, previous


@dataclass(frozen=True)
class LanguageModels(Translation):
    """``sentences`` texts of ``length`` tokens each, on language models of ``size``."""

    task: ClassVar[str] = "language_modeling"
    size: str = "base"

    def arguments(self, system):
        if system == STOCK:
            arch, flags = "transformer_lm", stock_language_model_flags(self.size)
        else:
            arch, flags = architecture(system, self.size, "transformer_lm"), []
        return arch, [*flags, "--task", self.task, "--tokens-per-sample", self.length]

    def inputs(self):
        return self.batch()[:1]


@dataclass(frozen=True)
class Patterns(Workload):
    """One text of any length, on language models of these sizes, under an attention pattern."""

    vocab_size: int = 1000
    layers: int = 2
    dim: int = 512
    heads: int = 8

    def model(self, encoding, pattern, longest):
        """The model of an encoding and a pattern for texts of up to ``longest`` tokens."""
        flags = {
            "--task": "language_modeling",
            "--attention-pattern": pattern,
            "--decoder-layers": self.layers,
            "--decoder-embed-dim": self.dim,
            "--decoder-ffn-embed-dim": 4 * self.dim,
            "--decoder-attention-heads": self.heads,
            "--tokens-per-sample": longest,
        }
        arch = architecture(encoding, "tiny", "transformer_lm")
        return self.build(arch, [arg for pair in flags.items() for arg in pair])

    def text(self, length):
        """Random tokens (1, length)."""
        return self.random_tokens(1, length)[0]


def stock_language_model_flags(size):
    """The flags that make fairseq's ``transformer_lm`` a model of this size."""
    settings = Namespace()
    LANGUAGE_MODEL_SIZES[size](settings)
    names = [f"decoder_{name}" for name in ("layers", "input_dim", "embed_dim", "ffn_embed_dim", "output_dim")]
    names += ["decoder_attention_heads", "dropout", "attention_dropout", "activation_fn"]
    flags = [arg for name in names for arg in (f"--{name.replace('_', '-')}", getattr(settings, name))]
    return [*flags, "--decoder-normalize-before"]
