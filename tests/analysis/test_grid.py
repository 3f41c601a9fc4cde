"""Every command that measures checkpoints under patterns at lengths adds to its file, and measures no cell twice."""

import json

import pytest

from fairseq_posenc.cli import main

COMMANDS = {
    "resolution": (["--texts", "2"], ["--texts", "3"], "(texts: 2, now 3)"),
    "receptive-field": (["--segments", "3"], ["--segments", "3", "--seed", "2"], "(seed: 1, now 2)"),
    "extrapolate": (["--protocol", "last-token", "--segments", "4"], ["--protocol", "pieces"], "(protocol, name: last"),
}
#: What only the table that a command prints says of a cell.
PRINTED = {"resolution": "mean_of_heads", "receptive-field": "erf", "extrapolate": "tokens"}
ORIGIN = ("command", "date")


@pytest.fixture(params=COMMANDS)
def call(request, lm_data, lm_checkpoint, tmp_path):
    """A function that calls a command: (names, lengths, out) -> (exit status, record)."""
    options, others, _ = COMMANDS[request.param]
    paths = {name: lm_checkpoint(name) for name in ("alibi", "rope")}

    def run(names, lengths, out, other=False):
        words = [request.param, str(lm_data), "--path", *(paths[name] for name in names), "--names", *names]
        words += ["--lengths", lengths, "--json", str(tmp_path / out), *(others if other else options)]
        status = main(words)
        record = json.loads((tmp_path / out).read_text())
        return status, {key: value for key, value in record.items() if key not in ORIGIN}

    run.command, run.folder = request.param, tmp_path
    return run


def test_what_is_missing_is_added(call):
    _, whole = call(["alibi", "rope"], "8,10", "whole.json")
    assert [(cell["name"], cell["length"]) for cell in whole["cells"]] == [
        *(("alibi", 8), ("alibi", 10)),
        *(("rope", 8), ("rope", 10)),
    ]
    call(["alibi"], "10", "parts.json")
    call(["alibi"], "8,10", "parts.json")
    _, parts = call(["alibi", "rope"], "8,10", "parts.json")
    assert parts == whole


def test_a_cell_that_is_there_is_not_measured_again(call):
    _, first = call(["alibi"], "8", "out.json")
    first["cells"][0]["mine"] = "kept"
    (call.folder / "out.json").write_text(json.dumps(first))
    _, again = call(["alibi"], "8", "out.json")
    assert again["cells"][0]["mine"] == "kept"


def test_files_of_older_versions_are_added_to(call):
    """They said less of what all cells share."""
    _, first = call(["alibi"], "8", "out.json")
    older = {**first, "text": dict(first["text"])}
    for field in {"schema", "texts", "segments"} & set(first):
        del older[field]
    if call.command != "extrapolate":
        del older["text"]["trimmed"]
    (call.folder / "out.json").write_text(json.dumps(older))
    assert call(["alibi"], "8", "out.json") == (0, first)


def test_another_setting_is_refused_and_nothing_lost(call, capsys):
    _, before = call(["alibi"], "8", "out.json")
    capsys.readouterr()
    assert call(["alibi"], "8", "out.json", other=True) == (2, before)
    error = capsys.readouterr().err
    assert COMMANDS[call.command][2] in error and error.count("\n") == 1


def test_a_cell_that_cannot_be_printed_is_refused_before_another_is_measured(call, capsys):
    _, whole = call(["alibi"], "8", "out.json")
    del whole["cells"][0][PRINTED[call.command]]
    (call.folder / "out.json").write_text(json.dumps(whole))
    capsys.readouterr()
    assert call(["alibi"], "8,10", "out.json") == (2, whole)
    error = capsys.readouterr().err
    assert f"out.json is not a complete result (KeyError('{PRINTED[call.command]}')); choose another name\n" in error
    assert error.count("\n") == 1


def test_a_closed_form_is_no_grid(lm_data, lm_checkpoint, tmp_path, capsys):
    out = str(tmp_path / "out.json")
    assert main(["resolution", "--closed-form", "--lengths", "8", "--json", out]) == 0
    words = ["resolution", str(lm_data), "--path", lm_checkpoint("alibi"), "--lengths", "8", "--json", out]
    assert main(words) == 2
    assert "holds a result of --closed-form; choose another name" in capsys.readouterr().err
