"""Joining tables: numbers and tests as if all seeds had run together."""

import json

import pytest

from examples.lm import join, length_table
from fairseq_posenc.analysis.extrapolation_summary import summary
from fairseq_posenc.errors import InputError
from tests.lm.test_length_table import TEXT, write

SEEDS = (1, 2, 3)
LOSSES = {("sinusoidal", "full"): 100.0, ("rope", "full"): 90.0, ("rope", "window:128"): 95.0, ("alibi", "full"): 80.0}


def cell(name, pattern, length, seed):
    noise = {1: 0.25, 2: -0.5, 3: 0.125}[seed] * len(name)
    return {
        "name": name,
        "pattern": pattern,
        "length": length,
        "pair": seed,
        "tokens": 9,
        "perplexity": LOSSES[name, pattern] + length / 128 + noise,
    }


def make(folder, seeds, names, baseline="sinusoidal", protocol="pieces"):
    """The path of the table of these systems and seeds."""
    home = folder / "small" / "gutenberg"
    cells = [
        cell(name, pattern, length, seed)
        for name, pattern in LOSSES
        for length in (128, 256)
        for seed in seeds
        if name in names
    ]
    result = {"kind": "extrapolation", "protocol": {"name": protocol}, "text": TEXT, "precision": "fp32"}
    write(home / "cells.json", {**result, "baseline": baseline, "summary": summary(cells, baseline), "cells": cells})
    words = [home, home / "all", "--settings", "sandwich-tiny", "--training-length", 128, "--command", "the command"]
    words += ["--paper-training-length", 512, "--seeds", *seeds, "--cells", "test", "cells.json"]
    for name in names:
        patterns = ",".join(pattern for system, pattern in LOSSES if system == name)
        words += ["--row", name, name, patterns, patterns]
        for seed in seeds:
            run = home / "sandwich-tiny" / name / f"seed{seed}"
            run.mkdir(parents=True, exist_ok=True)
            (run / "command").write_text(f"fairseq-train {home}/binary --seed {seed}\n")
            train = {"epoch": 1, "train_loss": "8", "train_num_updates": "20", "train_wps": "900"}
            valid = {"epoch": 1, "valid_loss": "7.5", "valid_num_updates": "20"}
            lines = [json.dumps(valid), json.dumps({**train, "train_train_wall": "60"})]
            (run / "train.log").write_text("num. shared model params: 9 (num. trained: 9)\n" + "\n".join(lines) + "\n")
    length_table.main(list(map(str, words)))
    return home / "all.json"


def joined(folder, *paths):
    join.main([str(folder / "joined"), *map(str, paths)])
    return json.loads((folder / "joined.json").read_text())


ALL = ("sinusoidal", "rope", "alibi")


@pytest.mark.parametrize(
    "parts",
    [
        [((seed,), ALL) for seed in SEEDS],
        [((1,), ALL[:2]), ((1,), ALL[2:]), ((2,), ALL), ((3,), ALL[2:]), ((3,), ALL[:2])],
        [((1, 2), ALL), ((3,), ALL)],
    ],
    ids=["seeds", "seeds and systems", "several seeds and one"],
)
def test_joined_tables_are_those_of_one_run(tmp_path, parts):
    whole = json.loads(make(tmp_path / "whole", SEEDS, ALL).read_text())
    paths = [make(tmp_path / str(number), *part) for number, part in enumerate(parts)]
    found = joined(tmp_path, *paths)
    assert found["texts"]["test"]["rows"] == whole["texts"]["test"]["rows"]
    for key in (
        "kind",
        "schema",
        "table",
        "measure",
        "scale",
        "corpus",
        "settings",
        "seeds",
        "training_length",
        "paper",
    ):
        assert found[key] == whole[key]
    assert found["trainings"] == whole["trainings"] or sorted(found["trainings"]) == sorted(whole["trainings"])
    values = {row["row"]: row["values"]["128"] for row in found["texts"]["test"]["rows"]}
    assert values["alibi"]["mark"] and values["alibi"]["p"] < 0.05 and values["alibi"]["seeds"] == 3
    assert len(found["joined"]) == len(parts)
    assert "±" in (tmp_path / "joined.md").read_text()
    assert (tmp_path / "joined.tsv").read_text().startswith("kind\t")


def test_joined_tables_can_be_joined(tmp_path):
    paths = [make(tmp_path / str(seed), (seed,), ALL) for seed in SEEDS]
    at_once = joined(tmp_path, *paths)
    join.main([str(tmp_path / "two"), *map(str, paths[:2])])
    found = joined(tmp_path, tmp_path / "two.json", paths[2])
    assert found["texts"] == at_once["texts"] and found["trainings"] == at_once["trainings"]
    assert len(found["joined"]) == 3


def test_systems_with_fewer_seeds_keep_their_number_and_have_no_test(tmp_path):
    found = joined(tmp_path, make(tmp_path / "1", (1,), ALL), make(tmp_path / "2", (2,), ALL[:2]))
    values = {row["row"]: row["values"]["256"] for row in found["texts"]["test"]["rows"]}
    assert (values["alibi"]["seeds"], values["alibi"]["p"], values["alibi"]["deviation"]) == (1, None, None)
    assert values["rope, full"]["seeds"] == 2 and values["rope, full"]["p"] is not None


def test_tables_that_do_not_fit_together_are_refused(tmp_path):
    one = make(tmp_path / "1", (1,), ALL)
    for name, message, other in (
        ("same", "both have sinusoidal seed 1; join results of other runs", ((1,), ALL)),
        ("base", "has baseline 'rope', but .* has 'sinusoidal'; join results that agree", ((2,), ALL, "rope")),
        ("how", "has protocol {'name': 'last-token'}", ((2,), ALL, "sinusoidal", "last-token")),
    ):
        with pytest.raises(InputError, match=message):
            joined(tmp_path, one, make(tmp_path / name, *other))
    record = json.loads(one.read_text())
    means = json.loads(make(tmp_path / "means", (2, 3), ALL).read_text())
    del means["texts"]["test"]["rows"][0]["values"]["128"]["by_seed"]
    write(tmp_path / "means.json", means)
    with pytest.raises(InputError, match="has the means of several seeds alone; make it again, or join its parts"):
        joined(tmp_path, one, tmp_path / "means.json")
    for change, message in (({"corpus": "stdlib"}, "has corpus 'stdlib'"), ({"texts": {}}, "have different texts")):
        write(tmp_path / "changed.json", {**record, **change, "seeds": [2]})
        with pytest.raises(InputError, match=message):
            joined(tmp_path, one, tmp_path / "changed.json")
