"""Settings of checkpoints and of --model-overrides: nothing of them is run, and nonsense ends in one line."""

import re
from argparse import Namespace
from pathlib import Path

import fairseq
import pytest
import torch
from fairseq import checkpoint_utils

from fairseq_compat.patches.settings import EVALUATING
from fairseq_compat.settings import LONGEST, OverridesError, SettingError, evaluate, read_overrides
from tests.support.commands import LANGUAGE_MODEL, refused
from tests.support.commands import fairseq as command

CODE = "[__import__('os').system('touch PWNED')]"


@pytest.mark.parametrize(
    "text",
    [
        "True",
        "None",
        "0.5",
        "-1e-8",
        "+3",
        "'a'",
        "20000,60000",
        "(0.9, 0.98)",
        "[1, (2, 3)]",
        "{'a': [1], 2: {'b'}}",
        "[(512, 3)] * 20",
        "3 * [(1, 2)] + [(4, 5)] * 2",
        "2 * 3 - 4 / 5",
        " [1] ",
    ],
)
def test_legal_settings_are_what_eval_makes_of_them(text):
    assert evaluate(text) == eval(text.strip())


@pytest.mark.parametrize(
    "text",
    [
        CODE,
        "os",
        "(lambda: 1)()",
        "[x for x in (1, 2)]",
        "f'{1}'",
        "().__class__",
        "[1][0]",
        "2 ** 9",
        "1 +",
        "1 / 0",
        "[0] * 10 ** 9",
        f"'a' * {LONGEST + 1}",
        "{**{}}",
        "(" * 500 + ")" * 500,
        "\0",
    ],
)
def test_all_else_is_refused(text):
    with pytest.raises(SettingError, match="is code, which is never run") as caught:
        evaluate(text)
    assert "\n" not in str(caught.value)


def test_what_is_no_text_is_refused_as_eval_does():
    """fairseq's eval_bool relies on it."""
    from fairseq.utils import eval_bool

    with pytest.raises(TypeError):
        evaluate(True)
    assert eval_bool("True") is True and eval_bool("0") is False and eval_bool(True, default=7) == 7


def test_every_module_that_calls_eval_is_patched():
    root = Path(fairseq.__file__).parent
    calls = re.compile(r"(?<![\w.])eval\(")
    found = {
        ".".join(("fairseq", *path.relative_to(root).with_suffix("").parts))
        for path in root.rglob("*.py")
        if calls.search(path.read_text(encoding="utf-8")) and "examples" not in path.relative_to(root).parts
    }
    assert found == set(EVALUATING)


@pytest.mark.parametrize("text", ["{'a'", "5", "{5: 1}", "os", "[1]", CODE])
def test_overrides_that_are_no_dictionary(text):
    with pytest.raises(OverridesError, match="is not a dictionary of settings; give one such as"):
        read_overrides(text)


@pytest.fixture
def altered(tmp_path):
    """A function that writes a checkpoint with other settings: (checkpoint, part of the configuration, settings)."""

    def write(checkpoint, part, **settings):
        state = torch.load(checkpoint, weights_only=False)
        old = state["cfg"][part]
        (vars(old) if isinstance(old, Namespace) else old).update(settings)
        torch.save(state, tmp_path / "altered.pt")
        return tmp_path / "altered.pt"

    return write


HOSTILE = [
    ("stock_run", "model", {"adaptive_softmax_cutoff": CODE}),
    ("stock_run", "model", {"arch": "fconv", "_name": "fconv", "encoder_layers": CODE}),
    ("stock_run", "model", {"arch": "lstm", "_name": "lstm", "decoder_attention": CODE}),
    ("stock_run", "model", {"encoder_xformers_att_config": CODE}),
    ("stock_lm_run", "model", {"character_embeddings": True, "character_filters": CODE}),
    ("stock_lm_run", "model", {"adaptive_softmax_cutoff": CODE}),
]


@pytest.mark.parametrize(("kind", "part", "settings"), HOSTILE)
def test_settings_of_a_checkpoint_are_never_run(kind, part, settings, altered, request, tmp_path, monkeypatch):
    path = altered(request.getfixturevalue(kind) / "checkpoint_last.pt", part, **settings)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingError, match="is code, which is never run"):
        checkpoint_utils.load_model_ensemble_and_task([str(path)])
    assert not (tmp_path / "PWNED").exists()


def test_settings_of_an_old_checkpoint_are_never_run(stock_checkpoint, tmp_path, monkeypatch):
    """Before fairseq 0.10 checkpoints held a namespace, whose texts fairseq converts."""
    state = torch.load(stock_checkpoint, weights_only=False)
    state["args"], state["cfg"] = Namespace(**{**vars(state["cfg"]["model"]), "lr": CODE}), None
    torch.save(state, tmp_path / "old.pt")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="old.pt is not a checkpoint of fairseq-train .ValueError: malform") as e:
        checkpoint_utils.load_model_ensemble_and_task([str(tmp_path / "old.pt")])
    assert "\n" not in str(e.value) and not (tmp_path / "PWNED").exists()


def test_a_hostile_checkpoint_in_a_command(stock_data, stock_run, altered, tmp_path):
    path = altered(stock_run / "checkpoint_last.pt", "criterion", _name="ctc", wer_args=CODE)
    words = ("--task", "translation", "--path", path, "--max-tokens", "100")
    assert "is code, which is never run" in refused(command("validate", stock_data, *words, cwd=tmp_path), "validate")
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ("{'no_such_key': 1}", "the checkpoint and its model have no setting no_such_key; correct the name"),
        ("{'encoder_atention_heads': 1}", "no setting encoder_atention_heads; did you mean encoder_attention_heads?"),
        ("{'encoder_attention_heads': 'x'}", "encoder_attention_heads is 2 in the checkpoint, but 'x' is of another t"),
        ("{'encoder_attention_heads': 0}", "checkpoint_last.pt do not match .ZeroDivisionError"),
        ("{'encoder_embed_dim': 32}", "checkpoint_last.pt do not match .RuntimeError: size mism"),
    ],
)
def test_nonsense_in_overrides(overrides, message, stock_checkpoint):
    with pytest.raises(ValueError, match=message) as caught:
        checkpoint_utils.load_model_ensemble_and_task([str(stock_checkpoint)], read_overrides(overrides))
    assert type(caught.value).one_line and "\n" not in str(caught.value)


def test_good_overrides_work(stock_checkpoint):
    overrides = read_overrides("{'dropout': 0, 'max_source_positions': 99, 'left_pad_source': False, 'seed': None}")
    (model,), cfg, _ = checkpoint_utils.load_model_ensemble_and_task([str(stock_checkpoint)], overrides)
    assert model.max_positions()[0] == 99 and cfg.task.left_pad_source is False


@pytest.mark.parametrize("name", ["generate", "interactive", "eval-lm", "validate"])
def test_overrides_that_are_code_are_never_run(name, stock_data, stock_lm_data, stock_checkpoint, tmp_path):
    text, task = (stock_lm_data, "language_modeling") if name == "eval-lm" else (stock_data, "translation")
    words = ("--task", task, "--path", stock_checkpoint, "--model-overrides", CODE, "--batch-size", "1")
    process = command(name, text, *words, cwd=tmp_path, stdin="w1\n")
    assert not (tmp_path / "PWNED").exists()
    assert "is not a dictionary of settings" in refused(process, name)


@pytest.mark.parametrize("count", ["0", "-3"])
def test_samples_of_no_tokens(count, stock_lm_data, tmp_path):
    process = command("train", stock_lm_data, *LANGUAGE_MODEL, "--tokens-per-sample", count, "--save-dir", tmp_path)
    assert f"--tokens-per-sample must be at least 1, but is {count}" in refused(process, "train")
