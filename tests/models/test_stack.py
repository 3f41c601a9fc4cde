"""How stacks take their encodings."""

import pytest
import torch

from fairseq_posenc.encodings import PositionEncoding
from fairseq_posenc.models.stack import install_encodings, self_attentions
from tests.support.models import batch, build_small, randomize


class Bias(PositionEncoding):
    """Counts how often it is asked."""

    asked = 0

    def bias(self, q_idx, kv_idx, device):
        self.asked += 1
        return torch.zeros(self.stack.heads, len(q_idx), len(kv_idx))


class Nothing(PositionEncoding):
    pass


def encodings_of(stack):
    return [attention.position_encoding for attention in self_attentions(stack)]


@pytest.mark.parametrize("kind", [Bias, Nothing])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_every_layer_gets_what_acts_on_attention(side, kind):
    """Also with layerdrop, where iterating over the layers leaves some out."""
    model = build_small("none", "--encoder-layers", 6, "--decoder-layers", 6, f"--{side}-layerdrop", 0.9).train()
    stack = getattr(model, side)
    encoding = kind(stack.embed_positions.stack)
    install_encodings(stack, [encoding] * 6)
    assert stack.embed_positions is encoding
    assert encodings_of(stack) == [encoding if kind is Bias else None] * 6


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_first_layer_alone_shared_or_separate(side):
    flags = ("--encoder-layers", 3, "--decoder-layers", 3, "--adaptive-t5-layers")
    first, shared, separate = (
        getattr(build_small("adaptive-t5", *flags, layers), side) for layers in ("first", "shared", "separate")
    )
    assert encodings_of(first) == [first.embed_positions, None, None]
    assert encodings_of(shared) == [shared.embed_positions] * 3
    assert len(set(encodings_of(separate))) == 3
    starts = [encoding.rates["past"] for encoding in encodings_of(separate)]
    assert not torch.equal(starts[0], starts[1]) and not torch.equal(starts[1], starts[2])


@pytest.mark.parametrize(("layers", "tables"), [("shared", 1), ("separate", 2)])
def test_a_checkpoint_holds_every_encoding_once(layers, tables):
    model = build_small("t5", "--t5-layers", layers)
    states = model.state_dict()
    held = [name for name, value in states.items() if value.shape == (8, 2) and "weight" in name]
    assert len(held) == 2 * tables
    assert sum(p.numel() for p in model.parameters()) == sum(
        value.numel() for name, value in states.items() if "version" not in name and "output_projection" not in name
    ) + sum(states[name].numel() for name in states if "output_projection" in name)


def test_layers_of_a_pass_share_a_bias():
    """The encoder and every step of the decoder ask once, and no number outlives its pass."""
    model = build_small("none").eval()
    for stack in (model.encoder, model.decoder):
        install_encodings(stack, [Bias(stack.embed_positions.stack)] * 2)
    sample = batch()
    encoder_out = model.encoder(sample["src_tokens"], sample["src_lengths"])
    assert model.encoder.embed_positions.asked == 1
    model.encoder(sample["src_tokens"], sample["src_lengths"])
    assert model.encoder.embed_positions.asked == 2
    state = {}
    for step in range(3):
        model.decoder(sample["prev_output_tokens"][:, : step + 1], encoder_out, incremental_state=state)
        assert model.decoder.embed_positions.asked == step + 1


def test_layers_of_deberta_share_their_table():
    """Each with projections of its own; a checkpoint gives all of it back."""
    model, other = build_small("deberta"), randomize(build_small("deberta"))
    torch.nn.init.normal_(other.decoder.embed_positions.table)
    for side in (model.encoder, model.decoder):
        first, second = encodings_of(side)
        assert first is not second and first.table is second.table
        assert not torch.equal(first.project_key.weight, second.project_key.weight)
    assert encodings_of(model.encoder)[0].table is not encodings_of(model.decoder)[0].table
    other.load_state_dict(model.state_dict())
    assert encodings_of(other.decoder)[1].table is encodings_of(other.decoder)[0].table
    torch.testing.assert_close(other(**batch())[0], model(**batch())[0])
