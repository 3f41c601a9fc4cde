"""--retain-dropout keeps the dropouts on that stock fairseq keeps on, and those of encodings."""

import pytest
import torch
from fairseq.modules import FairseqDropout

from tests.support.models import batch, build_small, build_small_lm, stock_model, text

STOCK_CLASSES = (
    *("TransformerEncoder", "TransformerEncoderLayerBase", "TransformerDecoder", "TransformerDecoderLayerBase"),
    "MultiheadAttention",
)
DROPOUT = ("--dropout", 0.1, "--attention-dropout", 0.1, "--activation-dropout", 0.1)


def retain(model, modules):
    """What fairseq-generate does with --retain-dropout and --retain-dropout-modules."""
    model.make_generation_fast_(retain_dropout=True, retain_dropout_modules=modules)
    return {name for name, m in model.named_modules() if isinstance(m, FairseqDropout) and m.apply_during_inference}


@pytest.mark.parametrize("modules", [None, *([name] for name in STOCK_CLASSES), ["SelfAttention"], [*STOCK_CLASSES]])
def test_same_dropouts_as_stock(modules):
    stock = retain(stock_model("sinusoidal", *DROPOUT), modules)
    assert retain(build_small("sinusoidal", *DROPOUT), modules) == stock
    assert bool(stock) == (modules != ["SelfAttention"])


@pytest.mark.parametrize(
    ("encoding", "flag", "name"),
    [
        ("posnet-embed", "--posnet-dropout", "PosNetEmbed"),
        ("posnet-attn", "--posnet-attn-dropout", "PosNetAttn"),
        ("adaptive-t5", "--adaptive-t5-dropout", "AdaptiveT5"),
    ],
)
def test_dropout_of_an_encoding_is_retained_by_the_name_of_its_class(encoding, flag, name):
    def varies(*retained):
        model = build_small(encoding, flag, 0.5).eval()
        if retained:
            retain(model, *retained)
        first, second = (model(**batch())[0] for _ in range(2))
        return not torch.equal(first, second)

    assert not varies()
    assert varies(None)
    assert varies([name])
    assert not varies(["TransformerEncoder"])


def test_of_a_language_model():
    model = build_small_lm("rope", "--dropout", 0.5).eval()
    model.make_generation_fast_(retain_dropout=True, retain_dropout_modules=["TransformerDecoder"])
    first, second = (model(text())[0] for _ in range(2))
    assert not torch.equal(first, second)
