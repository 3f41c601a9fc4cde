"""fairseq-posenc bench-patterns: what it measures, what it computes from it, what it refuses."""

import json

import pytest
import torch

from fairseq_posenc.analysis.pattern_cost import Workload, growth, measure_memory
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
    assert main(["bench-patterns", *SMALL, *words, "--json", str(out)]) == 0
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
    """Eight heads, 1,400 x 1,400 numbers of 4 bytes: 60 MiB and copies; in blocks of 64 next to nothing."""
    held = torch.ones(2**27)  # what the measuring process holds itself must not matter
    workload = Workload(layers=1, dim=64, heads=8, words=20)
    full, blocks = measure_memory(workload, [("alibi", "full"), ("alibi", "blockwise:128")], [1400], 1400)
    assert held.sum() == 2**27
    assert 50 < full["bytes"] / 2**20 < 400
    assert blocks["bytes"] / 2**20 < 30


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--measure", "energy"], "--measure must be of time, memory, but is energy"),
        (["--patterns", "window:0"], "window:0"),
        (["--encodings", "xpoz"], "did you mean xpos"),
        (["--rounds", "0"], "--rounds must be at least 1"),
        (["--lengths", "0,5"], "--lengths must be at least 1"),
        (["--encodings", "posnet-embed", "--lengths", "9,600"], "--lengths 600: posnet-embed takes 512 tokens"),
        (["--json", "/nonexistent/x.json"], "does not exist"),
    ],
)
def test_bad_input_is_one_line(words, told, capsys):
    assert main(["bench-patterns", *words]) == 2
    line = capsys.readouterr().err.strip()
    assert told in line and "\n" not in line
