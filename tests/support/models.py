"""Models from command-line flags and a dictionary in memory, as fairseq-train builds them."""

import torch

import fairseq_posenc.models.language_model  # noqa: F401 (registers the architectures)
from fairseq_posenc.analysis.build import architecture as architecture_of_size
from fairseq_posenc.analysis.build import build_model as build_model_of_size
from fairseq_posenc.encodings import encoding_class
from tests.support.encodings import CASES, away_from_zero

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

SMALL_LM = {name: value for name, value in SMALL.items() if not name.startswith("--encoder")}


def small_flags(encoding):
    """Command-line words for a small model with the options of the encoding's test row."""
    return words_of({**SMALL, **case_flags(encoding)})


def small_lm_flags(encoding):
    """The same for a language model."""
    return ["--task", "language_modeling", *words_of({**SMALL_LM, **case_flags(encoding)})]


def case_flags(encoding):
    """The flags of an encoding's test row, with their values."""
    return {encoding_class(encoding).options()[name].flag: value for name, value in CASES[encoding].options.items()}


def words_of(flags):
    return [str(word) for pair in flags.items() for word in pair]


def build_model(arch, *flags, words=20, target_words=None):
    return away_from_zero(build_model_of_size(arch, *flags, vocab_size=words, target_vocab_size=target_words))


def architecture(encoding):
    return architecture_of_size(encoding, "iwslt_de_en")


def build_small(encoding, *flags, **options):
    """A small model with one encoding."""
    return build_model(architecture(encoding), *small_flags(encoding), *flags, **options)


def lm_architecture(encoding, size="tiny"):
    return f"transformer_lm_{encoding.replace('-', '_')}_{size}"


def build_small_lm(encoding, *flags, **options):
    """A small language model with one encoding."""
    return build_model(lm_architecture(encoding), *small_lm_flags(encoding), *flags, **options)


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


def incremental_logits(model, sample):
    """The logits of every target token, decoded one at a time."""
    encoder_out = model.encoder(sample["src_tokens"], sample["src_lengths"])
    state, steps = {}, []
    tokens = sample["prev_output_tokens"]
    for step in range(tokens.size(1)):
        steps.append(model.decoder(tokens[:, : step + 1], encoder_out, incremental_state=state)[0])
    return torch.cat(steps, dim=1)


def text(lengths=(9, 5, 7), left=False, words=20):
    """Tokens (B, T) for a language model, padded on the right as fairseq's task does it, or on the left."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.full((len(lengths), max(lengths)), 1)
    for row, length in enumerate(lengths):
        start = max(lengths) - length if left else 0
        tokens[row, start : start + length] = torch.randint(4, 4 + words, (length,), generator=generator)
    return tokens


STOCK_FLAGS = [str(word) for pair in SMALL.items() for word in pair]
LEARNED = ["--encoder-learned-pos", "--decoder-learned-pos"]
PAIRS = {"sinusoidal": [], "learned": LEARNED, "none": ["--no-token-positional-embeddings"]}


def stock_model(encoding, *flags):
    return build_model("transformer_iwslt_de_en", *STOCK_FLAGS, *PAIRS[encoding], *flags)


def randomize(model):
    """Biases and norms away from their constant start, so that a lost one shows."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model
