"""--alignment-layer, --alignment-heads, --full-context-alignment: stock's transformer_align, with every encoding."""

import re

import pytest
import torch
from fairseq.models.transformer_align import TransformerAlignModel

from fairseq_posenc.encodings import encoding_names
from fairseq_posenc.errors import InputError
from tests.support.commands import BIN, output, with_plugin
from tests.support.commands import PLUGIN_TRAINING as TRAINING
from tests.support.models import STOCK_FLAGS, batch, build_model, build_small, randomize

FLAGS = {
    "first layer": ("--alignment-layer", 0, "--alignment-heads", 1),
    "full context": ("--alignment-layer", 1, "--alignment-heads", 2, "--full-context-alignment"),
}


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_equals_transformer_align(flags):
    theirs = randomize(build_model("transformer_align", *STOCK_FLAGS, *flags)).train()  # dropout is 0
    assert isinstance(theirs, TransformerAlignModel)
    ours = build_small("sinusoidal", *flags)
    ours.load_state_dict(theirs.state_dict(), strict=True)
    sample = batch()
    logits, extra = ours(**sample)
    expected_logits, expected = theirs(**sample)
    real = sample["prev_output_tokens"] != 1
    torch.testing.assert_close(logits[real], expected_logits[real], atol=1e-5, rtol=0)
    torch.testing.assert_close(extra["attn"][0][real], expected["attn"][0][real], atol=1e-5, rtol=0)
    plain = build_small("sinusoidal")
    plain.load_state_dict(theirs.state_dict(), strict=True)
    assert not torch.allclose(plain(**sample)[1]["attn"][0][real], extra["attn"][0][real], atol=1e-4)


@pytest.mark.parametrize("encoding", encoding_names())
def test_full_context_changes_the_alignment_alone(encoding):
    model, causal = (build_small(encoding, *flags) for flags in (FLAGS["full context"], FLAGS["full context"][:-1]))
    (logits, extra), (expected, other) = model(**batch()), causal(**batch())
    torch.testing.assert_close(logits, expected, atol=1e-6, rtol=0)
    attention = extra["attn"][0]
    assert attention.isfinite().all()
    torch.testing.assert_close(attention.sum(-1), torch.ones_like(attention[..., 0]))
    assert not torch.allclose(attention, other["attn"][0], atol=1e-6)


def test_training_on_alignments_and_printing_them(reversal_data, tmp_path):
    """Word i of the source, out of n, is word n - 1 - i of the target."""
    for split in ("train", "valid", "test"):
        lines = (reversal_data.parent / f"{split}.src").read_text().splitlines()
        alignments = (" ".join(f"{i}-{n - 1 - i}" for i in range(n)) for n in (len(line.split()) for line in lines))
        (reversal_data.parent / f"{split}.align").write_text("".join(f"{line}\n" for line in alignments))
    prefixes = [word for s in ("train", "valid", "test") for word in (f"--{s}pref", reversal_data.parent / s)]
    data = tmp_path / "data"
    output(
        *(BIN / "fairseq-preprocess", "-s", "src", "-t", "tgt", *prefixes, "--joined-dictionary"),
        *("--align-suffix", "align", "--destdir", data),
    )
    words = [word for word in TRAINING if word != "label_smoothed_cross_entropy"]
    words.insert(words.index("--criterion") + 1, "label_smoothed_cross_entropy_with_alignment")
    log = with_plugin(
        *("fairseq-train", data, "--arch", "transformer_rope_iwslt_de_en", *words, "--save-dir", tmp_path),
        *("--encoder-layers", 1, "--decoder-layers", 1, "--load-alignments", "--max-update", 6, *FLAGS["first layer"]),
        "--full-context-alignment",
    )
    losses = [float(loss) for loss in re.findall(r"alignment_loss ([\d.]+)", log)]
    assert losses and min(losses) > 0
    out = with_plugin(
        "fairseq-generate", data, "--path", tmp_path / "checkpoint_last.pt", "--print-alignment", "--beam", 2
    )
    assert len(re.findall(r"^A-\d+\t(\d+-\d+ ?)+$", out, re.M)) == 20


@pytest.mark.parametrize(
    ("flag", "value", "limits"),
    [("--alignment-layer", 2, "0 to 1"), ("--alignment-heads", 0, "1 to 2"), ("--alignment-heads", 3, "1 to 2")],
)
def test_layers_and_heads_that_are_not_there_are_refused(flag, value, limits):
    with pytest.raises(InputError, match=f"{flag} {value} must be from {limits}, as the decoder has 2 layers of 2"):
        build_small("none", flag, value)
