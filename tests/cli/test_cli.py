"""The command line: every command has help, bad input is one line, list and bench report what is there."""

import json
import subprocess
import sys

import pytest

from fairseq_posenc.cli import COMMANDS, main
from fairseq_posenc.encodings import encoding_class, encoding_names


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert f"fairseq-posenc {command}" in capsys.readouterr().out


def test_no_command_is_refused(capsys):
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


def test_list_json_is_what_encodings_say(capsys):
    assert main(["list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert sorted(rows) == encoding_names()
    for name, row in rows.items():
        encoding = encoding_class(name)
        assert row["translation_invariant"] == encoding.translation_invariant
        assert [shown["flag"] for shown in row["options"]] == [option.flag for option in encoding.options().values()]
    assert rows["posnet-embed"]["learned_parameters"] and not rows["sinusoidal"]["learned_parameters"]
    assert rows["none"]["acts_on"] == [] and rows["learned"]["acts_on"] == ["embeddings"]
    assert rows["shaw"]["acts_on"] == ["scores", "values"] and rows["rope"]["acts_on"] == ["queries and keys", "scores"]


def test_list_table_has_a_line_for_every_encoding(capsys):
    main(["list"])
    first_words = [line.split()[0] for line in capsys.readouterr().out.split("\n") if line.strip()]
    assert set(encoding_names()) <= set(first_words)


def test_output_that_nobody_reads_to_the_end():
    process = subprocess.Popen(
        [sys.executable, "-m", "fairseq_posenc.cli", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait() == 0


SMALL = ["--size", "iwslt_de_en", "--vocabulary", "50", "--length", "3", "--sentences", "2", "--beam", "2"]


def test_bench_measures_all_systems(tmp_path, capsys):
    out = tmp_path / "bench.json"
    words = ["bench", "--encodings", "posnet-embed", *SMALL, "--rounds", "1", "--json", str(out)]
    assert main(words) == 0
    result = json.loads(out.read_text())
    assert result["kind"] == "cost" and "forward" not in result
    for part in ("training", "generation", "peak_memory_bytes"):
        assert list(result[part]) == ["stock", "posnet-embed"]
    assert result["training"]["stock"]["ratio_to_stock"] == 1 and result["workload"]["beam"] == 2
    assert result["workload"]["length"] == 3 and result["versions"]["fairseq"] == "0.12.2"
    assert "posnet-embed" in capsys.readouterr().out


def test_bench_of_forward_passes_alone(tmp_path, capsys):
    out = tmp_path / "bench.json"
    words = ["bench", "--measure", "forward", "--encodings", "shaw", *SMALL[:-2], "--rounds", "3", "--json", str(out)]
    assert main(words) == 0
    result = json.loads(out.read_text())
    assert not {"training", "generation", "peak_memory_bytes"} & set(result)
    assert result["workload"]["beam"] is None
    for system in ("stock", "shaw"):
        measured = result["forward"][system]
        first, third = measured["quartiles"]
        assert 0 < first <= measured["seconds"] <= third
        # Ten passes over 2 sentences of 3 tokens.
        assert measured["tokens_per_second"] == pytest.approx(60 / measured["seconds"])
        assert len(measured["ratios"]) == 3
    assert "memory" not in capsys.readouterr().out


def test_bench_of_language_models(tmp_path):
    out = tmp_path / "bench.json"
    words = ["bench", "--task", "language_modeling", "--size", "tiny", "--vocabulary", "50", "--length", "3"]
    words += ["--sentences", "2", "--measure", "training", "--encodings", "xpos", "--rounds", "1", "--json", str(out)]
    assert main(words) == 0
    result = json.loads(out.read_text())
    assert list(result["training"]) == ["stock", "xpos"]
    assert result["workload"]["task"] == "language_modeling" and result["workload"]["size"] == "tiny"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--encodings", "sinusodal"], "did you mean sinusoidal"),
        (["--measure", "speed"], "--measure must be of training, generation, forward, memory for --task translation"),
        (["--task", "language_modeling", "--measure", "generation"], "must be of training, forward, memory"),
        (["--task", "language_modeling", "--size", "wiki103"], "one of tiny, base, gpt2_medium, but is wiki103"),
        (["--measure", "forward", "--beam", "2"], "--beam 2 is for --measure generation, but --measure is forward"),
        (["--length", "600", "--encodings", "rope,posnet-embed"], "posnet-embed 512; leave out encodings with too few"),
        (["--length", "512", "--encodings", "posnet-embed"], "needs 513 positions"),
        (["--rounds", "0"], "--rounds must be at least 1, but is 0"),
        (["--vocabulary", "1000000000000"], "--vocabulary must be at most 10000000, but is 1000000000000"),
        (["--size", "huge"], "--size must be one of iwslt_de_en, wmt_en_de, wmt_en_de_big, but is huge"),
        (["--json", "/no/such/folder/x.json"], "folder"),
    ],
)
def test_bench_refuses_bad_input_in_one_line(words, message, capsys):
    assert main(["bench", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
