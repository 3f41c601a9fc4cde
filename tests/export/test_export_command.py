"""``fairseq-posenc export``: bad input is one line, before anything is written."""

import shutil
import sys
from types import SimpleNamespace

import pytest

from fairseq_posenc.cli import main
from fairseq_posenc.errors import InputError
from fairseq_posenc.export.checkpoint import Trained, load_trained
from fairseq_posenc.export.refusals import PLAIN, check_plain
from fairseq_posenc.outputs import new_folder
from tests.support.export import write_model


def refused(words, capsys):
    """The error line of the command."""
    assert main(["export", *map(str, words)]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    return printed.err


UNKNOWN = {
    "an encoding": (("xpos",), "no encoding xpos"),
    "alibi in the encoder": (("alibi",), "no alibi in its encoder"),
    "other slopes": (
        ("rope", "--decoder-position-encoding", "alibi", "--alibi-shift", 1),
        "no slopes for alibi but those of the authors' code",
    ),
    "tables of layers": (("t5", "--t5-layers", "separate"), "no --t5-layers separate"),
    "a bucket that its rounding changes": (
        ("t5", "--t5-buckets", 46, "--t5-max-distance", 164),
        "no --t5-buckets with --t5-max-distance 164: it rounds distance 107 into another bucket",
    ),
    "scaling": (
        ("rope", "--rope-scaling", "yarn", "--rope-scaling-factor", 2, "--rope-original-length", 32),
        "no --rope-scaling yarn",
    ),
    "pairs that are not turned": (("rope", "--rope-keep", 0.5), "no --rope-keep"),
    "numbers of positions": (("sinusoidal", "--positions", "scale:2"), "no --positions scale:2"),
    "distances": (("shaw", "--distance", "clamp:3"), "no --distance clamp:3"),
    "factors": (("none", "--attention-scale", "yarn:2"), "no --attention-scale yarn:2"),
    "alignments": (("none", "--full-context-alignment"), "no --full-context-alignment;"),
}
UNKNOWN_LANGUAGE_MODELS = {
    "a pattern": (("rope", "--attention-pattern", "window:3"), "no --attention-pattern window:3"),
    "a cache": (("rope", "--cache-size", 3), "no --cache-size 3"),
    "t5": (("t5",), "no right t5 bias for the tokens of a prompt"),
    "factors": (("rope", "--scale-heads"), "no --scale-heads;"),
}


PRE_NORM = ("--encoder-normalize-before", "--decoder-normalize-before")
UNKNOWN_TO_TRANSFORMERS = {
    "an encoding": (("rope",), "no translation model with rope, post-norm, no --layernorm-embedding"),
    "sides that differ": (
        ("sinusoidal", "--decoder-position-encoding", "learned"),
        "no encoder with sinusoidal, post-norm, no --layernorm-embedding and decoder with learned,",
    ),
    "two tables": (("sinusoidal", *PRE_NORM), "pre-norm, no --layernorm-embedding without --share-all-embeddings"),
    "lengths that differ": (
        ("learned", "--share-all-embeddings", "--layernorm-embedding", "--max-source-positions", 20),
        "no --max-source-positions that differ from --max-target-positions",
    ),
}
LANGUAGE_MODELS_UNKNOWN_TO_TRANSFORMERS = {
    "an encoding": (("alibi",), "no language model with alibi"),
    "a norm of embeddings": (("learned", "--layernorm-embedding"), "with learned and --layernorm-embedding"),
    "no last norm": (("sinusoidal", "--no-decoder-final-norm"), "no --no-decoder-final-norm"),
    "two dimensions": (("rope", "--decoder-input-dim", 8), "no embeddings of another dimension"),
    "a pattern": (("rope", "--attention-pattern", "window:3"), "no --attention-pattern window:3"),
}


@pytest.mark.parametrize(("flags", "message"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_ctranslate2_cannot_say(flags, message, reversal_data, tmp_path, capsys):
    pytest.importorskip("ctranslate2")
    checkpoint = write_model(tmp_path / "model.pt", reversal_data, *flags)
    assert message in refused([checkpoint, "--to", "ctranslate2", "--output", tmp_path / "out"], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


@pytest.mark.parametrize(("flags", "message"), UNKNOWN_LANGUAGE_MODELS.values(), ids=UNKNOWN_LANGUAGE_MODELS.keys())
def test_what_ctranslate2_cannot_say_of_language_models(flags, message, lm_data, tmp_path, capsys):
    pytest.importorskip("ctranslate2")
    words = (*flags, "--tokens-per-sample", 16)
    checkpoint = write_model(tmp_path / "model.pt", lm_data, *words, language_model=True)
    assert message in refused([checkpoint, "--to", "ctranslate2", "--output", tmp_path / "out"], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


@pytest.mark.parametrize(("flags", "message"), UNKNOWN_TO_TRANSFORMERS.values(), ids=UNKNOWN_TO_TRANSFORMERS.keys())
def test_what_transformers_does_not_have(flags, message, reversal_data, tmp_path, capsys):
    pytest.importorskip("transformers")
    checkpoint = write_model(tmp_path / "model.pt", reversal_data, *flags)
    assert message in refused([checkpoint, "--to", "huggingface", "--output", tmp_path / "out"], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


@pytest.mark.parametrize(
    ("flags", "message"),
    LANGUAGE_MODELS_UNKNOWN_TO_TRANSFORMERS.values(),
    ids=LANGUAGE_MODELS_UNKNOWN_TO_TRANSFORMERS.keys(),
)
def test_language_models_that_transformers_does_not_have(flags, message, lm_data, tmp_path, capsys):
    pytest.importorskip("transformers")
    words = (*flags, "--tokens-per-sample", 16)
    checkpoint = write_model(tmp_path / "model.pt", lm_data, *words, language_model=True)
    assert message in refused([checkpoint, "--to", "huggingface", "--output", tmp_path / "out"], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


@pytest.mark.parametrize("name", PLAIN)
def test_settings_that_no_other_program_knows(name):
    """Also those that small models rarely have: pruned layers, adaptive embeddings, norms of heads."""
    plain = SimpleNamespace(**PLAIN)
    trained = Trained("model.pt", SimpleNamespace(), plain, None)
    check_plain(trained, "a program")
    for value in (True, "other", [0]):
        setattr(plain, name, value)
        with pytest.raises(InputError, match=f"^model.pt: a program has no --{name.replace('_', '-')}"):
            check_plain(trained, "a program")


def test_dictionaries_of_another_folder(reversal_data, tmp_path):
    shutil.copytree(reversal_data, tmp_path / "gone")
    checkpoint = write_model(tmp_path / "model.pt", tmp_path / "gone", "rope")
    shutil.rmtree(tmp_path / "gone")
    with pytest.raises(InputError, match="gone"):
        load_trained(checkpoint)
    assert "w1" in load_trained(checkpoint, data=str(reversal_data)).dictionaries["target"]


def test_a_missing_package(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)  # as Python marks what cannot be imported
    line = refused(["model.pt", "--to", "ctranslate2", "--output", tmp_path / "out"], capsys)
    assert "pip install 'fairseq-posenc[ctranslate2]'" in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "torch-export", "--quantization", "int8"], "--quantization int8 is an option of --to ctranslate2"),
        (["--to", "huggingface", "--length", 9], "--length 9 is an option of --to torch-export"),
        (["--to", "torch-export", "--model-overrides", "{"], "--model-overrides"),
        (["--to", "torch-export"], "absent.pt"),
        (["--to", "torch-export", "--output", "/no/such/folder/out"], "folder /no/such/folder does not exist"),
    ],
)
def test_bad_arguments(words, message, tmp_path, capsys):
    assert message in refused(["absent.pt", "--output", tmp_path / "out", *words], capsys)
    assert not list(tmp_path.iterdir())


def test_an_existing_output_is_kept(tmp_path, capsys):
    (tmp_path / "out").mkdir()
    line = refused(["absent.pt", "--to", "torch-export", "--output", tmp_path / "out"], capsys)
    assert "out exists already" in line


def test_nothing_is_left_of_a_folder_that_could_not_be_written(tmp_path):
    with (
        pytest.raises(InputError, match="--output out: cannot be written.*No space left"),
        new_folder("--output out", tmp_path / "out") as folder,
    ):
        (folder / "half").touch()
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())
