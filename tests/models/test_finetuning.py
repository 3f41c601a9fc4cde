"""--finetune-from-model with a checkpoint of another encoding, and of another model."""

import re

import pytest
import torch

from fairseq_posenc.errors import InputError
from fairseq_posenc.models.finetuning import Origin
from tests.support.commands import PLUGIN_TRAINING, one_line, with_plugin
from tests.support.models import architecture, batch, build_small, build_small_lm, small_flags, text


def train(corpus, folder, encoding, *flags, arch=None, **options):
    words = [*PLUGIN_TRAINING, *small_flags(encoding), "--save-dir", folder, "--max-update", 6, *flags]
    return with_plugin("fairseq-train", corpus, "--arch", arch or architecture(encoding), *words, **options)


def parameters(folder):
    return torch.load(folder / "checkpoint_last.pt", weights_only=False)["model"]


def other_numbers(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5)
    return model


def start(model, source, **encodings):
    """Load the parameters of ``source`` into ``model`` as --finetune-from-model does."""
    model.origin = Origin("old.pt", encodings)
    model.load_state_dict(source.state_dict())
    return model


def test_what_stays_and_what_begins_anew(caplog):
    """The old encoding is left out even where names and shapes are the same; all else is that of the checkpoint."""
    caplog.set_level("INFO")
    old, fresh = other_numbers(build_small("t5")), build_small("shaw")
    model = start(build_small("shaw"), old, encoder="t5", decoder="t5")
    for name, parameter in model.state_dict().items():
        source = fresh if "positions" in name else old
        assert torch.equal(parameter, source.state_dict()[name]), name
    (line,) = [record.getMessage() for record in caplog.records]
    assert "\n" not in line and line.startswith("old.pt has another positional encoding (encoder t5 -> shaw, decoder")
    assert "left out: encoder.embed_positions, decoder.embed_positions; new: encoder.embed_positions, encoder.l" in line
    assert line.endswith(
        "encoder.later_positions, decoder.embed_positions, decoder.later_positions; all other parameters "
        "are those of the checkpoint"
    )
    assert model.max_positions() == fresh.max_positions()
    other = start(build_small("t5"), old, encoder="kerple-log", decoder="t5")
    assert not torch.equal(other.encoder.embed_positions.weight, old.encoder.embed_positions.weight)
    assert torch.equal(other.decoder.embed_positions.weight, old.decoder.embed_positions.weight)


def test_nothing_is_told_where_nothing_differs(caplog):
    caplog.set_level("INFO")
    old = other_numbers(build_small("t5"))
    model = start(build_small("t5"), old, encoder="t5", decoder="t5")
    assert not caplog.records and torch.equal(model(**batch())[0], old(**batch())[0])


def test_without_its_encoding_a_language_model_is_that_of_no_encoding():
    old = other_numbers(build_small_lm("rope")).eval()
    model = start(build_small_lm("none"), old, decoder="rope").eval()
    plain = build_small_lm("none").eval()
    plain.load_state_dict(old.state_dict())
    assert torch.equal(model(text())[0], plain(text())[0]) and not torch.equal(model(text())[0], old(text())[0])


def test_learned_factors_of_attention_may_begin_anew():
    old = build_small("rope")
    model = start(build_small("rope", "--attention-scale", "ssmax"), old, encoder="rope", decoder="rope")
    assert model.encoder.layers[0].self_attn.learned_scale.eq(0.43).all() and model(**batch())[0].isfinite().all()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (
            ("--encoder-layers", 3),
            r"is of another model: it lacks 16 parameters \(encoder.layers.2.*, \.\.\); use a model",
        ),
        (("--decoder-ffn-embed-dim", 32), "is of another model: it has another shape of 6 parameters"),
        (("--encoder-embed-dim", 32, "--decoder-embed-dim", 32), "is of another model: it has another shape of "),
    ],
)
def test_other_models_are_refused(flags, told):
    with pytest.raises(InputError, match=f"--finetune-from-model old.pt {told}") as caught:
        start(build_small("rope", *flags), build_small("none"), encoder="none", decoder="none")
    assert "\n" not in str(caught.value)


def test_another_encoding_is_refused_where_no_training_begins():
    with pytest.raises(
        InputError, match="the checkpoint is of another model: it lacks 2 parameters .* takes another enc"
    ):
        build_small("t5").load_state_dict(build_small("rope").state_dict())


@pytest.fixture(scope="module")
def sinusoidal(reversal_data, tmp_path_factory):
    """A folder with a checkpoint."""
    folder = tmp_path_factory.mktemp("sinusoidal")
    train(reversal_data, folder, "sinusoidal")
    return folder


def test_commands(reversal_data, sinusoidal, tmp_path):
    """Start, go on, translate; --restore-file and another model are refused in one line."""
    chosen = ("--finetune-from-model", sinusoidal / "checkpoint_last.pt")
    log = train(reversal_data, tmp_path, "t5", *chosen, "--lr", 1e-20)
    (line,) = re.findall(r".*has another positional encoding.*", log)
    assert (
        "(encoder sinusoidal -> t5, decoder sinusoidal -> t5); left out: nothing; new: encoder.embed_positions" in line
    )
    before, after = parameters(sinusoidal), parameters(tmp_path)
    for name, parameter in before.items():
        torch.testing.assert_close(after[name], parameter, atol=1e-6, rtol=0, msg=name)
    log = train(reversal_data, tmp_path, "t5", *chosen, "--max-update", 8)
    assert "num_updates 8" in log and "another positional encoding" not in log
    words = [reversal_data, "--path", tmp_path / "checkpoint_last.pt", "--beam", 2, "--max-len-b", 12]
    assert len(re.findall(r"^H-", with_plugin("fairseq-generate", *words), re.M)) == 20
    restored = ("--restore-file", sinusoidal / "checkpoint_last.pt", "--reset-optimizer")
    line = one_line(train(reversal_data, tmp_path / "restored", "t5", *restored, status=2))
    assert "the checkpoint is of another model: it lacks 2 parameters" in line and "--finetune-from-model" in line


@pytest.mark.slow
def test_what_commands_refuse(reversal_data, sinusoidal, tmp_path):
    chosen = ("--finetune-from-model", sinusoidal / "checkpoint_last.pt")
    train(reversal_data, tmp_path, "t5", *chosen)
    words = [reversal_data, "--path", tmp_path / "checkpoint_last.pt", "--beam", 2, "--max-len-b", 12]
    # The settings of the training name its origin: an override does not change the encoding all the same.
    overridden = (
        "--model-overrides",
        "{'position_encoding': 'shaw', 'encoder_position_encoding': 'shaw', "
        "'decoder_position_encoding': 'shaw', 't5_buckets': None, 't5_max_distance': None, "
        "'t5_layers': None, 't5_scale': None}",
    )
    assert "the checkpoint is of another model" in one_line(
        with_plugin("fairseq-generate", *words, *overridden, status=2)
    )
    # Nor does a training that was stopped go on with another one.
    assert "takes another encoding" in one_line(train(reversal_data, tmp_path, "shaw", *chosen, status=2))
    line = one_line(train(reversal_data, tmp_path / "deeper", "t5", *chosen, "--encoder-layers", 3, status=2))
    assert "checkpoint_last.pt is of another model: it lacks 16 parameters" in line


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["sinusoidal", "rope"])
def test_from_a_checkpoint_of_stock_fairseq(encoding, reversal_data, tmp_path):
    stock = tmp_path / "stock"
    train(reversal_data, stock, "sinusoidal", arch="transformer_iwslt_de_en")
    log = train(reversal_data, tmp_path, encoding, "--finetune-from-model", stock / "checkpoint_last.pt")
    assert "num_updates 6" in log
    assert ("encoder of stock fairseq -> rope" in log) == (encoding == "rope")
    assert ("has another positional encoding" in log) == (encoding == "rope")
