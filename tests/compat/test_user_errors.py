"""Mistakes of users end in one line and status 2; everything else keeps its traceback."""

import re
import sys

import pytest

from fairseq_compat.user_errors import explain
from tests.support.commands import TRANSLATION, fairseq, refused, run, succeeded, write_corpus

PLUGIN = """
from fairseq.models import register_model_architecture


class BadValue(ValueError):
    one_line = True


@register_model_architecture("transformer", "bad_value")
def bad_value(args):
    raise BadValue("--depth is -1, but must be at least 0; leave it out for the default")


@register_model_architecture("transformer", "bug")
def bug(args):
    raise ValueError("a bug, not a mistake")
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    directory = tmp_path_factory.mktemp("plugin") / "bad_plugin"
    directory.mkdir()
    (directory / "__init__.py").write_text(PLUGIN)
    return directory


def train_with(plugin, arch, data, **variables):
    return fairseq("train", data, "--user-dir", plugin, "--arch", arch, "--max-tokens", "100", **variables)


def test_an_error_that_says_it_is_refused(plugin, stock_data):
    line = refused(train_with(plugin, "bad_value", stock_data), "train")
    assert line.endswith("--depth is -1, but must be at least 0; leave it out for the default")


def test_the_traceback_is_there_on_demand(plugin, stock_data):
    result = train_with(plugin, "bad_value", stock_data, FAIRSEQ_COMPAT_TRACEBACK="1")
    assert result.returncode == 1
    assert "Traceback" in result.stderr


def test_a_bug_keeps_its_traceback(plugin, stock_data):
    result = train_with(plugin, "bug", stock_data)
    assert result.returncode == 1
    assert "Traceback" in result.stderr


def test_python_m_prints_one_line_too(tmp_path):
    result = run(sys.executable, "-m", "fairseq_cli.train", tmp_path / "nowhere", *TRANSLATION)
    assert "nowhere" in refused(result, "train")


def test_missing_split(stock_data, stock_checkpoint):
    line = refused(fairseq("generate", stock_data, "--path", stock_checkpoint, "--gen-subset", "test2"), "generate")
    assert "no data for split 'test2'" in line
    assert "fairseq-preprocess" in line


def test_directory_without_data(tmp_path):
    assert "make them with fairseq-preprocess" in refused(fairseq("train", tmp_path, *TRANSLATION), "train")


def test_missing_model(stock_data):
    assert "nowhere.pt" in refused(fairseq("generate", stock_data, "--path", "nowhere.pt"), "generate")


@pytest.mark.parametrize("size", [0, 5000, 100000])
def test_part_of_a_checkpoint_is_refused(size, stock_checkpoint, tmp_path):
    """PyTorch's error depends on where the file was cut."""
    import fairseq.checkpoint_utils

    part = tmp_path / "part.pt"
    part.write_bytes(stock_checkpoint.read_bytes()[:size])
    with pytest.raises(RuntimeError, match=r"part\.pt is not a complete checkpoint"):
        fairseq.checkpoint_utils.load_checkpoint_to_cpu(str(part))


def test_half_a_checkpoint_is_named_and_left_alone(stock_data, stock_checkpoint, tmp_path):
    half = tmp_path / "checkpoint_last.pt"
    half.write_bytes(stock_checkpoint.read_bytes()[:5000])
    line = refused(fairseq("train", stock_data, *TRANSLATION, "--save-dir", tmp_path), "train")
    assert f"{half} is not a complete checkpoint" in line
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint_last.pt"]
    assert half.stat().st_size == 5000


def test_data_with_another_dictionary(stock_checkpoint, tmp_path):
    write_corpus(tmp_path, {"test": 5})
    options = ("-s", "src", "-t", "tgt", "--trainpref", "test", "--testpref", "test", "--destdir", "other")
    succeeded(fairseq("preprocess", *options, cwd=tmp_path))
    line = refused(fairseq("generate", tmp_path / "other", "--path", stock_checkpoint), "generate")
    assert "the checkpoint's dictionary has 40 types but the data's has" in line


def test_a_tokenizer_without_languages(stock_data, stock_checkpoint):
    argv = ("generate", stock_data, "--path", stock_checkpoint, "--tokenizer", "moses")
    line = refused(fairseq(*argv), "generate")
    assert "--tokenizer needs the languages; give --source-lang and --target-lang" in line


def test_samples_beyond_the_positions(stock_data, stock_checkpoint, tmp_path):
    """Those of a training set are left out by fairseq with a warning."""
    limits = ("--max-source-positions", "6")
    for command, *options in (
        ("train", *TRANSLATION, "--save-dir", tmp_path),
        ("generate", "--path", stock_checkpoint),
    ):
        line = refused(fairseq(command, stock_data, *options, *limits), command)
        assert re.search(r"sample \d+ has \d+ source tokens but at most 6 fit; shorten it", line), line
        assert "--skip-invalid-size-inputs-valid-test" in line


def test_a_text_beyond_the_positions():
    error = Exception("Size of sample #3 is invalid (=2049) since max_positions=2048, skip this example with --skip-it")
    assert explain(error).startswith("sample 3 has 2049 tokens but at most 2048 fit; ")
    assert explain(error).endswith("skip such samples with --skip-it")


def test_a_text_that_is_not_utf8(stock_data, stock_checkpoint, tmp_path):
    (tmp_path / "latin.src").write_bytes(b"w1 w2\nw3 caf\xe9\n")
    words = ("--path", stock_checkpoint, "--input", tmp_path / "latin.src")
    line = refused(fairseq("interactive", stock_data, *words), "interactive")
    assert line.endswith("latin.src is not UTF-8: byte 0xe9 in line 2; convert it, for example with iconv")
    words = ("--only-source", "--trainpref", tmp_path / "latin.src", "--destdir", tmp_path / "out")
    line = refused(fairseq("preprocess", *words), "preprocess")
    assert "a text is not UTF-8: byte 0xe9 at byte 13 of the input" in line


def test_a_directory_as_a_file(stock_data, stock_checkpoint, tmp_path):
    line = refused(fairseq("interactive", stock_data, "--path", stock_checkpoint, "--input", tmp_path), "interactive")
    assert line.endswith(f"{tmp_path} is a directory; give a file")


def test_a_file_that_may_not_be_read():
    assert explain(PermissionError(13, "Permission denied", "x.pt")).startswith(
        "x.pt: permission denied; choose another path"
    )


def test_score_without_its_file(tmp_path):
    result = fairseq("score", "-s", tmp_path / "none", "-r", tmp_path / "none")
    assert "System output file" in refused(result, "score")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--amp --fp16", "--fp16 and --amp are different precisions; give one of them"),
        ("--amp --memory-efficient-fp16", "--memory-efficient-fp16 and --amp are different precisions"),
        ("--amp --memory-efficient-bf16", "--memory-efficient-bf16 and --amp are different precisions"),
        ("--bf16 --fp16", "--fp16 and --bf16 are different precisions"),
        ("--amp --bf16 --fp16", "--fp16, --bf16 and --amp are different precisions"),
        ("--fp16 --fp16-init-scale 0", "--fp16-init-scale must be above 0, but is 0; 128 is usual"),
    ],
)
def test_precisions_that_contradict_each_other(flags, told, tmp_path):
    """Refused before there is any data."""
    assert told in refused(fairseq("train", tmp_path / "nowhere", *TRANSLATION, *flags.split()), "train")


def test_hydra_train_in_two_precisions(tmp_path):
    """Where fairseq itself trains in fp16 without scaling the loss."""
    precisions = ("task=language_modeling", "task.data=nowhere", "common.fp16=true", "common.bf16=true")
    options = (
        "model=transformer_lm",
        "criterion=cross_entropy",
        "dataset.batch_size=2",
        f"hydra.run.dir={tmp_path}/run",
    )
    line = refused(fairseq("hydra-train", *precisions, *options, cwd=tmp_path), "hydra-train")
    assert "--fp16 and --bf16 are different precisions" in line


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--memory-efficient-fp16 --optimizer adagrad", "do not support the optimizer Adagrad; give --fp16 or --bf16"),
        ("--fp16 --optimizer adafactor", "add --fp16-no-flatten-grads"),
        ("--fp16 --update-freq 1,2", "--fp16 with a changing --update-freq needs --fp16-scale-window"),
    ],
)
def test_half_precision_with_what_it_does_not_go_with(flags, told, stock_data):
    assert told in refused(fairseq("train", stock_data, *TRANSLATION, "--cpu", "--no-save", *flags.split()), "train")


def test_hydra_train_without_data(tmp_path):
    overrides = ("task=language_modeling", f"task.data={tmp_path}/nowhere", "model=transformer_lm")
    options = ("criterion=cross_entropy", "dataset.batch_size=2", f"hydra.run.dir={tmp_path}/run")
    assert "nowhere" in refused(fairseq("hydra-train", *overrides, *options, cwd=tmp_path), "hydra-train")


@pytest.mark.parametrize("part", ["libnat", "libbase"])
def test_a_part_that_is_not_built(part, monkeypatch):
    import fairseq

    monkeypatch.delitem(sys.modules, f"fairseq.{part}", raising=False)
    monkeypatch.delattr(fairseq, part, raising=False)
    monkeypatch.setattr(fairseq, "__path__", [])
    with pytest.raises(ImportError) as caught:
        exec(f"from fairseq import {part}")
    assert explain(caught.value) == f"fairseq.{part} is not built; `fairseq-posenc doctor` says how to build it"


def test_unknown_user_dir(tmp_path):
    line = refused(fairseq("train", tmp_path, "--user-dir", "no_such_plugin", *TRANSLATION), "train")
    assert "--user-dir no_such_plugin is neither a directory" in line


def test_the_message_of_a_data_loading_process_is_its_last_line():
    class BadSentence(ValueError):
        one_line = True

    error = BadSentence("Caught BadSentence in worker 0.\nTraceback:\nmodule.BadSentence: 9 words, at most 8\n")
    assert explain(error) == "9 words, at most 8"


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(
            "size mismatch for encoder.embed_tokens.weight: copying a param with shape torch.Size([40, 16]) from "
            "checkpoint, the shape in current model is torch.Size([40, 32])"
        ),
        RuntimeError("CUDA out of memory"),
        OSError("disk on fire"),
        AssertionError("x does not exist"),
        Exception("something else"),
        KeyError("embed_tokens"),
    ],
)
def test_unknown_errors_are_not_explained_away(error):
    assert explain(error) is None


def test_the_cause_of_an_error_is_explained():
    try:
        try:
            raise RuntimeError(
                "size mismatch for encoder.embed_tokens.weight: copying a param with shape torch.Size([40, 16]) from "
                "checkpoint, the shape in current model is torch.Size([99, 16])"
            )
        except RuntimeError:
            raise Exception("Cannot load model parameters")  # noqa: B904  (as fairseq's trainer does)
    except Exception as error:
        assert "dictionary has 40 types but the data's has 99" in explain(error)
