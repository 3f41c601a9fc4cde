"""How stacks take their encoding."""

import pytest

from fairseq_posenc.encodings import PositionEncoding
from fairseq_posenc.models.stack import install_encoding
from tests.models.build import build_small


class Bias(PositionEncoding):
    def bias(self, q_columns, k_columns):
        return (k_columns - q_columns.unsqueeze(1)).float().expand(self.stack.heads, -1, -1)


class Nothing(PositionEncoding):
    pass


@pytest.mark.parametrize("kind", [Bias, Nothing])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_every_layer_gets_what_acts_on_attention(side, kind):
    """Also with layerdrop, where iterating over the layers leaves some out."""
    model = build_small("none", "--encoder-layers", 6, "--decoder-layers", 6, f"--{side}-layerdrop", 0.9).train()
    stack = getattr(model, side)
    encoding = kind(stack.embed_positions.stack)
    install_encoding(stack, encoding)
    assert stack.embed_positions is encoding
    attached = [layer.self_attn.position_encoding for layer in stack.layers.children()]
    assert attached == [encoding if kind is Bias else None] * 6
