"""fairseq-posenc bench --patterns: what it measures, what it computes from it, what it refuses."""

import json

import pytest
import torch

from fairseq_posenc.analysis.pattern_cost import growth, measure_memory
from fairseq_posenc.analysis.timer import AttentionTimer
from fairseq_posenc.analysis.workload import Patterns
from fairseq_posenc.cli import main

SMALL = ["--layers", "1", "--dim", "16", "--heads", "2", "--vocabulary", "20", "--rounds", "2"]


def rows(pattern, seconds_of, lengths=(10, 20, 40, 80)):
    return [
        {
            "encoding": "none",
            "pattern": pattern,
            "length": n,
            "seconds": 1 + seconds_of(n),
            "attention_seconds": seconds_of(n),
        }
        for n in lengths
    ]


def test_growth_of_known_times():
    full, blocks = growth([*rows("full", lambda n: 3 * n**2, (10, 20, 40)), *rows("blockwise:8", lambda n: 5 * n)])
    assert full["attention_exponent"] == pytest.approx(2)
    assert 1.9 < full["exponent"] < 2
    assert blocks["attention_exponent"] == pytest.approx(1)
    assert blocks["speedup"] == {"10": pytest.approx(6), "20": pytest.approx(12), "40": pytest.approx(24)}
    assert "speedup" not in full
    assert "exponent" not in growth(rows("full", lambda n: n, (10,)))[0]


def test_times(tmp_path, capsys):
    out = tmp_path / "out.json"
    words = ["--encodings", "xpos,t5", "--patterns", "full,window:4", "--lengths", "40,8,40", "--longest-full", "8"]
    assert main(["bench", *SMALL, *words, "--json", str(out)]) == 0
    result = json.loads(out.read_text())
    measured = [(row["encoding"], row["pattern"], row["length"]) for row in result["time"]]
    assert sorted(measured) == sorted(
        [
            (name, pattern, n)
            for name in ("xpos", "t5")
            for pattern, n in (("full", 8), ("window:4", 8), ("window:4", 40))
        ]
    )
    for row in result["time"]:
        assert 0 < row["attention_seconds"] < row["seconds"]
        assert len(row["rounds"]) == len(row["attention_rounds"]) == 2
    assert result["kind"] == "pattern-cost" and result["workload"]["heads"] == 2 and result["command"]
    assert {record["pattern"] for record in result["growth"] if "speedup" in record} == {"window:4"}
    assert "window:4" in capsys.readouterr().out


def test_memory_is_that_of_the_bias():
    """Eight heads with numbers of 4 bytes: 60 MiB for 1,400 x 1,400 of them, and copies. Next to nothing where a bias
    is that of the distance alone, for which a mask of 256 queries would have 11 MiB.
    """
    held = torch.ones(2**27)  # what the measuring process holds itself must not matter
    workload = Patterns(layers=1, dim=64, heads=8, vocab_size=20)
    cases = [("fire", "full"), ("alibi", "full"), ("alibi", "blockwise:128")]
    whole, by_distance, blocks = (record["bytes"] / 2**20 for record in measure_memory(workload, cases, [1400], 1400))
    assert held.sum() == 2**27
    assert 60 < whole < 400
    assert by_distance < 11
    assert blocks < 30


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--measure", "energy"], "--measure must be of forward, memory with --patterns, but is energy"),
        (["--patterns", "window:0"], "window:0"),
        (["--encodings", "xpoz"], "did you mean xpos"),
        (["--rounds", "0"], "--rounds must be at least 1"),
        (["--lengths", "0,5"], "--lengths must be at least 1"),
        (["--encodings", "posnet-embed", "--lengths", "9,600"], "--lengths 600: posnet-embed reads at most 512 tokens"),
        (["--json", "/nonexistent/x.json"], "does not exist"),
        (["--beam", "2"], "--beam is not for measurements with --patterns; leave one of the two out"),
    ],
)
def test_bad_input_is_one_line(words, told, capsys):
    assert main(["bench", *words, *([] if "--patterns" in words else ["--patterns"])]) == 2
    line = capsys.readouterr().err.strip()
    assert told in line and "\n" not in line


def test_options_of_patterns_alone_are_one_line(capsys):
    assert main(["bench", "--layers", "1"]) == 2
    assert "--layers is for measurements with --patterns; give both, or leave --layers out" in capsys.readouterr().err


def test_the_old_name_still_works(tmp_path, capsys):
    out = tmp_path / "out.json"
    words = ["bench-patterns", *SMALL, "--lengths", "8", "--measure", "time,memory", "--json", str(out)]
    assert main(words) == 0
    result = json.loads(out.read_text())
    assert [row["pattern"] for row in result["time"]] == ["full", "blockwise:512"] and len(result["memory"]) == 2
    told = [line for line in capsys.readouterr().err.split("\n") if "new name" in line]
    assert told == ["fairseq-posenc bench-patterns: the new name is: fairseq-posenc bench --patterns"]


def test_the_time_of_attention_is_that_of_every_layer_and_no_more():
    workload = Patterns(layers=3, dim=16, heads=2, vocab_size=20)
    model = workload.model("alibi", "full", 16)
    attentions = [layer.self_attn for layer in model.decoder.layers]
    with AttentionTimer(attentions[:2], "cpu") as timer:
        found = []
        for attention in attentions:
            attention.out_proj.register_forward_hook(lambda *_: found.append(timer.seconds))
        model(workload.text(16))
    assert 0 < found[0] < found[1] == found[2] == timer.seconds
    model(workload.text(16))
    assert found[5] == timer.seconds
