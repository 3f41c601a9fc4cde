"""Flags: what they build, what checkpoints record, and what is refused."""

from types import SimpleNamespace

import pytest
import torch
from fairseq import models, options
from fairseq.models import ARCH_MODEL_REGISTRY

from fairseq_posenc.analysis.build import dictionary
from fairseq_posenc.encodings import encoding_names
from fairseq_posenc.errors import InputError
from fairseq_posenc.models.transformer import SIZES
from tests.support.models import SMALL, architecture, batch, build_model, build_small, incremental_logits

SMALL_FLAGS = [str(word) for pair in SMALL.items() for word in pair]


def refused(match, arch, *flags, error=InputError):
    with pytest.raises(error, match=match) as caught:
        build_model(arch, *SMALL_FLAGS, *flags)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", encoding_names())
def test_architectures_of_every_size(name):
    for size in SIZES:
        assert f"transformer_{name.replace('-', '_')}_{size}" in ARCH_MODEL_REGISTRY
    model = build_small(name)
    assert model.encoder.embed_positions.name == model.decoder.embed_positions.name == name


def test_default_is_sinusoidal():
    assert build_model("transformer_posenc", *SMALL_FLAGS).encoder.embed_positions.name == "sinusoidal"


def test_sides_differ():
    model = build_model(
        "transformer_posenc", *SMALL_FLAGS, "--position-encoding", "learned", "--decoder-position-encoding", "none"
    )
    assert model.encoder.embed_positions.name == "learned"
    assert model.decoder.embed_positions.name == "none"


@pytest.mark.parametrize(
    ("encoder", "decoder"), [("xpos", "alibi"), ("shaw", "learned"), ("posnet-attn", "t5"), ("none", "rope")]
)
def test_sides_of_different_kinds(encoder, decoder):
    """Each side has its own encoding and no more: step by step as in one pass, and every parameter learns."""
    model = build_model(
        "transformer_posenc",
        *("--encoder-position-encoding", encoder, "--decoder-position-encoding", decoder),
        *SMALL_FLAGS,
    )
    assert (model.encoder.embed_positions.name, model.decoder.embed_positions.name) == (encoder, decoder)
    sample = batch()
    tokens = sample["prev_output_tokens"] != 1
    whole = model(**sample)[0]
    torch.testing.assert_close(incremental_logits(model, sample)[tokens], whole[tokens], atol=1e-5, rtol=0)
    whole.pow(2).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_parameters_of_the_other_encodings_in_the_base_model():
    """Beyond those of the model without positions, in numbers of Zhang et al. 2023, Table 1, where they agree."""

    def extra(name, *flags):
        model = build_model(f"transformer_{name}_wmt_en_de", *flags)
        return sum(p.numel() for p in model.parameters()) - plain

    plain = sum(p.numel() for p in build_model("transformer_none_wmt_en_de").parameters())
    assert extra("posnet_attn", "--posnet-attn-max-positions", 250) == 250 * 64 * 64  # the paper: +1.03 M
    assert extra("shaw") == 6 * 2 * (33 + 17) * 64
    assert extra("t5") == 2 * 32 * 8
    assert extra("kerple_log") == extra("kerple_power") == 2 * 2 * 8
    network = (16 + 16) + (16 * 4 + 4) + (4 + 1)
    assert extra("adaptive_t5") == 3 * 8 * (network + 1)  # the encoder has two directions; the paper: +0.00 M


def test_shaw_of_a_big_model_clips_at_8():
    model = build_model("transformer_shaw_wmt_en_de_big", "--encoder-layers", 1, "--decoder-layers", 1)
    assert model.encoder.embed_positions.keys.shape == (17, 64) and model.decoder.embed_positions.keys.shape == (9, 64)


def test_posnet_only_in_the_encoder():
    """What the authors' scripts in effect do."""
    model = build_small("posnet-embed", "--decoder-position-encoding", "none")
    assert model.encoder.embed_positions.name == "posnet-embed"
    assert not list(model.decoder.embed_positions.parameters())


@pytest.mark.parametrize("kernels", ["shared", "separate"])
def test_posnet_kernels(kernels):
    model = build_small("posnet-embed", "--posnet-kernels", kernels)
    assert (model.encoder.embed_positions is model.decoder.embed_positions) == (kernels == "shared")
    again = build_small("posnet-embed", "--posnet-kernels", kernels)
    again.load_state_dict(model.state_dict())
    sample = batch()
    assert torch.equal(model(**sample)[0], again(**sample)[0])


def test_posnet_parameters_of_the_paper():
    """Table 1: +3.41 M over no encoding, with one module for both sides and L = 200."""
    flags = ["--posnet-max-positions", 200]
    counts = [
        sum(
            p.numel()
            for p in build_model(f"transformer_{name}_wmt_en_de", "--share-all-embeddings", *more).parameters()
        )
        for name, more in (("posnet_embed", flags), ("none", []))
    ]
    assert round((counts[0] - counts[1]) / 1e6, 2) == 3.41


def test_posnet_of_a_big_model():
    model = build_model(
        "transformer_posnet_embed_wmt_en_de_big",
        *("--encoder-layers", 1, "--decoder-layers", 1, "--posnet-max-positions", 8),
    )
    assert model.encoder.embed_positions.kernels.weight.shape == (8, 256, 256)
    assert model.cfg.dropout == 0.3 and model.cfg.attention_dropout == 0.1


@pytest.mark.parametrize(("initialization", "std"), [("tensor", 0.0049), ("slice", 0.088)])
def test_posnet_initialization(initialization, std):
    """Standard deviations for L = 512, K = 128."""
    kernels = build_small(
        "posnet-embed", "--posnet-max-positions", 512, "--posnet-dim", 128, "--posnet-init", initialization
    ).encoder.embed_positions.kernels.weight
    assert kernels.std().item() == pytest.approx(std, rel=0.02)


def test_posnet_dropout_is_its_own():
    model = build_small("posnet-embed", "--posnet-dropout", 0.5).train()
    x, positions = torch.randn(1, 5, 16), torch.arange(5)[None]
    encoding = model.encoder.embed_positions
    assert not torch.equal(encoding.embed(x, positions), encoding.embed(x, positions))
    encoding.eval()
    assert torch.equal(encoding.embed(x, positions), encoding.embed(x, positions))


def test_posnet_beyond_its_limit():
    long = batch(lengths=(70, 3), target_lengths=(2, 2))
    limited = build_small("posnet-embed")
    assert limited.max_positions() == (64, 64)
    with pytest.raises(InputError, match="position 70 exceeds --posnet-max-positions 64"):
        limited(**long)
    clamped = build_small("posnet-embed", "--posnet-beyond", "clamp")
    assert clamped.max_positions() == (1024, 1024)
    assert clamped(**long)[0].isfinite().all()


@pytest.mark.parametrize("value", [0, -2])
@pytest.mark.parametrize(
    "flag",
    [
        *(f"--{side}-{size}" for side in ("encoder", "decoder") for size in ("attention-heads", "embed-dim", "layers")),
        *("--encoder-ffn-embed-dim", "--decoder-output-dim", "--max-source-positions", "--max-target-positions"),
    ],
)
def test_sizes_below_1_are_refused(flag, value):
    refused(f"{flag} must be a whole number of at least 1, but is {value}", architecture("none"), flag, value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("encoder_attention_heads", "x", "--encoder-attention-heads must be a whole number of at least 1, but is x"),
        ("encoder_attention_heads", [2], "--encoder-attention-heads must be a whole number of at least 1, but is"),
        ("rope_base", "x", "--rope-base must be of the type float, but is 'x'"),
        ("rope_base", float("nan"), "--rope-base must be between 1e-06 and 1e.12, but is nan"),
    ],
)
def test_values_of_another_type_are_refused(name, value, message):
    """As --model-overrides and checkpoints may have them."""
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, ["no-data", "--arch", architecture("rope"), *SMALL_FLAGS])
    setattr(args, name, value)
    task = SimpleNamespace(source_dictionary=dictionary(9), target_dictionary=dictionary(9))
    with pytest.raises(InputError, match=message) as caught:
        models.build_model(args, task)
    assert "\n" not in str(caught.value)


def test_option_of_another_encoding_is_refused():
    refused("--posnet-dim 8 is an option of posnet-embed", architecture("sinusoidal"), "--posnet-dim", 8)


@pytest.mark.parametrize(
    ("flag", "value"),
    [("--posnet-max-positions", 0), ("--posnet-dim", -1), ("--posnet-dropout", 1.5)],
)
def test_impossible_values_are_refused(flag, value):
    refused(f"{flag} must be .*{value}", architecture("posnet-embed"), flag, value)


def test_contradicting_stock_flags_are_refused():
    refused("--encoder-learned-pos contradicts", architecture("sinusoidal"), "--encoder-learned-pos")
    refused("contradicts.*use .*none", architecture("sinusoidal"), "--no-token-positional-embeddings")


def test_impossible_dimensions_are_refused():
    refused(
        "--encoder-embed-dim 16 is not divisible by --encoder-attention-heads 3",
        architecture("none"),
        "--encoder-attention-heads",
        3,
    )
    refused("must be even.*15", architecture("sinusoidal"), "--encoder-embed-dim", 15, "--encoder-attention-heads", 3)
    refused(
        "--decoder-embed-dim 32", architecture("posnet-embed"), "--decoder-embed-dim", 32, "--posnet-kernels", "shared"
    )
    refused("--decoder-attention-heads 4", architecture("posnet-attn"), "--decoder-attention-heads", 4)


def test_other_attention_is_refused():
    """Nothing is accepted and ignored."""
    config = "{'name': 'scaled_dot_product'}"
    for side in ("encoder", "decoder"):
        flag = f"--{side}-xformers-att-config"
        refused(f"{flag} would replace the attention", architecture("none"), flag, config)
    refused("--cross-self-attention is not supported", architecture("none"), "--cross-self-attention")


def test_unknown_name_is_refused_by_the_parser(capsys):
    with pytest.raises(SystemExit) as caught:
        build_model("transformer_posenc", "--position-encoding", "posnet-embde")
    assert caught.value.code == 2
    last = capsys.readouterr().err.strip().split("\n")[-1]
    assert "did you mean posnet-embed?" in last and "sinusoidal" in last


def test_another_vocabulary_is_refused():
    with pytest.raises(InputError, match="24 entries.*dictionary of the data has 25"):
        build_small("none", words=21).load_state_dict(build_small("none").state_dict())


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_checkpoint_of_a_diverged_training_is_refused(number):
    model = build_small("sinusoidal")
    state = model.state_dict()
    model.load_state_dict({**state, "encoder.embed_positions._float_tensor": torch.tensor([number])})
    state["decoder.layers.1.fc1.bias"][3] = number
    with pytest.raises(InputError, match="1 of the 24 numbers of the parameter decoder.layers.1.fc1.bias are NaN or"):
        model.load_state_dict(state)


def test_large_numbers_are_no_infinity():
    """Their sum is beyond fp16."""
    model = build_small("none").half()
    state = model.state_dict()
    state["decoder.layers.1.fc1.bias"].fill_(60000)
    model.load_state_dict(state)
    assert model.decoder.layers[1].fc1.bias.min() == 60000
