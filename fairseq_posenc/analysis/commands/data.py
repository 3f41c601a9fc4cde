"""Binarised data of random tokens, as fairseq-preprocess writes it."""

import torch
from fairseq.data.indexed_dataset import make_builder

from fairseq_posenc.analysis.build import dictionary

END = 2


def write_pairs(folder, vocab_size, longest, counts):
    """Sentence pairs ``src-tgt``, both of a length from longest/2 to ``longest`` with the end-of-sentence symbol.

    ``counts``: {split: number of pairs}.
    """
    for language in ("src", "tgt"):
        dictionary(vocab_size).save(str(folder / f"dict.{language}.txt"))
        tokens = torch.Generator().manual_seed(0)
        for split, count in counts.items():
            # Both languages draw the same lengths.
            lengths = torch.randint(
                (longest + 1) // 2, longest + 1, (count,), generator=torch.Generator().manual_seed(1)
            )
            write_split(folder / f"{split}.src-tgt.{language}", vocab_size, lengths.tolist(), tokens)


def write_texts(folder, vocab_size, length, counts):
    """Texts of ``length`` tokens each for language models. ``counts``: {split: number of texts}."""
    dictionary(vocab_size).save(str(folder / "dict.txt"))
    tokens = torch.Generator().manual_seed(0)
    for split, count in counts.items():
        write_split(folder / split, vocab_size, [length] * count, tokens)


def write_split(prefix, vocab_size, lengths, generator):
    builder = make_builder(f"{prefix}.bin", "mmap", vocab_size=vocab_size + 4)
    for length in lengths:
        sentence = torch.randint(4, 4 + vocab_size, (length,), generator=generator)
        sentence[-1] = END
        builder.add_item(sentence)
    builder.finalize(f"{prefix}.idx")
