"""The language model: architectures, lengths, and stock fairseq's weights and outputs."""

from argparse import Namespace

import pytest
import torch
from fairseq.models import ARCH_MODEL_REGISTRY

from fairseq_posenc.encodings import encoding_names
from fairseq_posenc.errors import InputError
from fairseq_posenc.models.language_model import SIZES
from tests.support.models import SMALL_LM, build_model, build_small_lm, lm_architecture, randomize, text, words_of

STOCK_FLAGS = ["--task", "language_modeling", *words_of(SMALL_LM), "--activation-fn", "gelu"]
PAIRS = {
    "sinusoidal": [],
    "learned": ["--decoder-learned-pos"],
    "none": ["--no-token-positional-embeddings"],
}
VARIANTS = {
    "plain": [],
    "shared": ["--share-decoder-input-output-embed"],
    "narrow input and output": ["--decoder-input-dim", "12", "--decoder-output-dim", "20"],
    "no final norm": ["--no-decoder-final-norm"],
    "layernorm embedding": ["--layernorm-embedding"],
    "scales": ["--scale-fc", "--scale-attn", "--scale-heads", "--scale-resids"],
    "characters": [
        *("--character-embeddings", "--character-filters", "[(1, 8), (2, 8)]"),
        *("--character-embedding-dim", "4", "--char-embedder-highway-layers", "2"),
    ],
    "adaptive": [
        *("--adaptive-input", "--adaptive-input-cutoff", "8,16", "--adaptive-softmax-cutoff", "8,16"),
        *("--adaptive-input-factor", "2", "--adaptive-softmax-factor", "2"),
        *("--tie-adaptive-weights", "--tie-adaptive-proj"),
    ],
}


def stock_model(encoding, *flags):
    return build_model("transformer_lm_gpt", *STOCK_FLAGS, *PAIRS[encoding], *flags)


def outputs(model, tokens):
    """Logits, or features where an adaptive softmax makes logits of them; and log-probabilities."""
    output = model(tokens)
    softmax = model.decoder.adaptive_softmax
    with torch.no_grad():
        if softmax is None:
            log_probs = model.get_normalized_probs(output, log_probs=True)
        else:
            log_probs = softmax.get_log_prob(output[0], None)
    return output[0][tokens != 1], log_probs[tokens != 1]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("encoding", PAIRS)
@pytest.mark.parametrize("direction", ["stock to ours", "ours to stock"])
def test_checkpoints_interchange(direction, encoding, variant):
    """Equal to 1e-5; strict loading both ways; the same gradients."""
    ours = randomize(build_small_lm(encoding, *VARIANTS[variant]))
    stock = randomize(stock_model(encoding, *VARIANTS[variant]))
    source, target = (stock, ours) if direction == "stock to ours" else (ours, stock)
    target.load_state_dict(source.state_dict(), strict=True)
    tokens = text()
    mine, theirs = outputs(ours, tokens), outputs(stock, tokens)
    for one, other in zip(mine, theirs):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=0)
    for output, _ in (mine, theirs):
        output.pow(2).sum().backward()
    gradients = {name: parameter.grad for name, parameter in stock.named_parameters()}
    for name, parameter in ours.named_parameters():
        expected = gradients.pop(name)
        if expected is None:  # no token uses it, or the adaptive softmax does
            assert parameter.grad is None
            continue
        torch.testing.assert_close(parameter.grad, expected, atol=1e-5, rtol=1e-4, msg=name)
    assert not gradients


@pytest.mark.parametrize("name", encoding_names())
def test_architectures_of_every_size(name):
    for size in SIZES:
        assert lm_architecture(name, size) in ARCH_MODEL_REGISTRY
    model = build_small_lm(name)
    assert model.decoder.embed_positions.name == name
    assert model.decoder.embed_positions.stack.causal


@pytest.mark.parametrize(
    ("size", "layers", "dim", "heads", "ffn"),
    [("tiny", 4, 128, 4, 512), ("base", 12, 768, 12, 3072), ("gpt2_medium", 24, 1024, 16, 4096)],
)
def test_sizes(size, layers, dim, heads, ffn):
    """Without building the large ones: what the architecture function sets."""
    args = Namespace()
    SIZES[size](args)
    assert (args.decoder_layers, args.decoder_embed_dim, args.decoder_attention_heads) == (layers, dim, heads)
    assert (args.decoder_ffn_embed_dim, args.activation_fn) == (ffn, "gelu")
    given = Namespace(decoder_layers=3)
    SIZES[size](given)
    assert given.decoder_layers == 3


def test_default_is_sinusoidal():
    assert build_model("transformer_lm_posenc", *STOCK_FLAGS).decoder.embed_positions.name == "sinusoidal"


def test_limits():
    """Tables have as many rows as the samples of training; a table's limit is told with its cure."""
    flags = ["--tokens-per-sample", 16]
    assert build_small_lm("learned", *flags).max_positions() == 16
    assert build_small_lm("learned", *flags, "--max-target-positions", 24).max_positions() == 24
    assert build_small_lm("posnet-embed", "--tokens-per-sample", 100).max_positions() == 64
    clamped = build_small_lm("posnet-embed", "--tokens-per-sample", 100, "--posnet-beyond", "clamp")
    assert clamped.max_positions() == 100
    with pytest.raises(InputError, match="position 17 exceeds the 16 learned positions"):
        build_small_lm("learned", *flags)(text(lengths=(17,)))


def refused(match, arch, *flags):
    with pytest.raises(InputError, match=match) as caught:
        build_model(arch, *STOCK_FLAGS, *flags)
    assert "\n" not in str(caught.value)


def test_bad_input_is_refused():
    none = lm_architecture("none")
    refused("--posnet-dim 8 is an option of posnet-embed", none, "--posnet-dim", 8)
    refused("--decoder-learned-pos contradicts --position-encoding none", none, "--decoder-learned-pos")
    refused(
        "--decoder-embed-dim 16 is not divisible by --decoder-attention-heads 3",
        none,
        *("--decoder-attention-heads", 3),
    )
    refused("--base-layers 1", none, "--base-layers", 1)
    refused(
        "--decoder-input-dim is 8 and --decoder-output-dim 16; make them equal",
        none,
        "--share-decoder-input-output-embed",
        *("--decoder-input-dim", 8),
    )
    refused("--decoder-xformers-att-config", none, "--decoder-xformers-att-config", "{'name': 'x'}")
    refused(
        "--adaptive-input-cutoff 20000,60000 reaches beyond the dictionary's 24 entries",
        *(lm_architecture("none", "wiki103"), "--decoder-output-dim", 16, "--decoder-input-dim", 16),
    )
    adaptive = ["--adaptive-input", "--adaptive-input-cutoff", "8"]
    refused("--adaptive-input needs --adaptive-input-cutoff", none, "--adaptive-input")
    refused("--tie-adaptive-weights needs --adaptive-input", none, "--tie-adaptive-weights")
    refused(
        "--adaptive-input-cutoff and --adaptive-softmax-cutoff to be equal, but they are 8 and 9",
        *(none, *adaptive, "--adaptive-softmax-cutoff", "9", "--tie-adaptive-weights"),
    )


def test_another_vocabulary_is_refused():
    with pytest.raises(InputError, match="24 entries.*dictionary of the data has 25"):
        build_small_lm("none", words=21).load_state_dict(build_small_lm("none").state_dict())
