"""Joining results of one table: numbers as if all systems had run together."""

import json

import pytest

from examples.length import data, join, table
from examples.length.settings import ENCODER_DECODER
from fairseq_posenc.errors import InputError
from fairseq_posenc.tables import read_tsv
from tests.length.test_table import PAPER, ROWS, write_system

SEEDS = {1: 12, 2: 10, 3: 9}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Systems that copy as much as fits into so many tokens (rope: SEEDS; none: one fewer)."""
    home = tmp_path_factory.mktemp("work") / "smoke"
    arguments = ["--trained", "8", "--longest", "24", "--train", "40", "--valid", "8", "--test", "2"]
    for task in ("copy", "replace"):
        data.main([task, str(home / task / "raw"), *arguments])
        answers = [line.split() for line in (home / task / "raw" / "test.output").read_text().splitlines()]
        for seed, limit in SEEDS.items():
            for name, fewer in (("rope", 0), ("none", 1)):
                told = [words[: limit - fewer] for words in answers]
                write_system(home, task, ENCODER_DECODER, name, seed, told)
    (home / "rows.tsv").write_text(ROWS)
    (home / "paper.tsv").write_text(PAPER)
    return home


def make(home, folder, tasks, names, *seeds):
    """The path of a result in a folder of its own."""
    (home / folder).mkdir(exist_ok=True)
    arguments = ["--form", ENCODER_DECODER, "--rows", home / "rows.tsv", "--paper", home / "paper.tsv"]
    arguments += ["--tasks", *tasks, "--only", *names, "--seeds", *seeds, "--command", f"reproduce.sh {folder}"]
    table.main([str(argument) for argument in (home, home / folder / "all", *arguments)])
    return home / folder / "all.json"


def joined(home, *paths):
    join.main([str(home / "joined"), *map(str, paths)])
    return json.loads((home / "joined.json").read_text())


BOTH = ("copy", "replace")
PARTS = {
    "systems": [(BOTH, ["rope"], 1, 2, 3), (BOTH, ["none"], 1, 2, 3)],
    "tasks": [(["copy"], ["rope", "none"], 1, 2, 3), (["replace"], ["rope", "none"], 1, 2, 3)],
    "seeds": [(BOTH, ["rope", "none"], 1), (BOTH, ["rope", "none"], 2, 3)],
    "all of them": [
        (BOTH, ["rope"], 2),
        (["copy"], ["none"], 1, 2, 3),
        (BOTH, ["rope"], 1, 3),
        (["replace"], ["none"], 1, 2, 3),
    ],
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_joined_results_are_those_of_one_run(home, parts):
    whole = json.loads(make(home, "whole", BOTH, ["rope", "none"], 1, 2, 3).read_text())
    paths = [make(home, f"part{number}", *part) for number, part in enumerate(parts)]
    found = joined(home, *paths)
    for field in ("kind", "schema", "table", "scale", "form", "seeds", "tasks"):
        assert found[field] == whole[field]
    for field in ("summary", "curves"):
        assert len(found[field]) == len(whole[field])
        for ours, theirs in zip(found[field], whole[field]):
            assert list(ours) == list(theirs)
            for key, value in theirs.items():
                number = isinstance(value, (float, list))
                assert ours[key] == (pytest.approx(value, abs=2e-4) if number else value)
    runs = [
        [(run["task"], run["name"], run["seed"], bool(run["command"])) for run in record["trainings"]]
        for record in (found, whole)
    ]
    assert runs[0] == runs[1]
    assert sorted(map(str, found["paper"])) == sorted(map(str, whole["paper"]))
    assert [part["command"] for part in found["joined"]] == [f"reproduce.sh part{n}" for n in range(len(parts))]
    assert {row["seeds"] for row in read_tsv(home / "joined.tsv") if row["owner"] == "ours"} == {"3"}
    lengths = [(home / "joined-lengths.tsv").read_text(), (home / "whole" / "all-lengths.tsv").read_text()]
    assert len(lengths[0].splitlines()) == len(lengths[1].splitlines())


def test_a_system_of_another_number_of_seeds_keeps_it(home):
    found = joined(home, make(home, "more", ["copy"], ["rope"], 1, 2), make(home, "fewer", ["copy"], ["none"], 3))
    assert {(row["name"], row["seeds"], row["exact_deviation"] is None) for row in found["summary"]} == {
        ("rope", 2, False),
        ("none", 1, True),
    }
    assert found["seeds"] == [1, 2, 3]


def test_a_joined_result_can_be_joined_again(home):
    parts = [make(home, f"step{seed}", ["copy"], ["rope"], seed) for seed in SEEDS]
    at_once = joined(home, *parts)
    joined(home, *parts[:2])
    (home / "joined.json").rename(home / "two.json")
    in_steps = joined(home, home / "two.json", parts[2])
    for ours, theirs in zip(in_steps["summary"], at_once["summary"]):
        assert ours == pytest.approx(theirs, abs=2e-4)
    assert in_steps["joined"] == at_once["joined"]


def test_results_that_do_not_fit_together_are_refused(home):
    one, other = make(home, "one", ["copy"], ["rope"], 1, 2), make(home, "other", ["copy"], ["rope", "none"], 2)
    with pytest.raises(InputError, match=r"both have rope copy seed 2; join results of other runs"):
        joined(home, one, other)
    record = json.loads(other.read_text())
    for change, message in (
        ({"scale": "small"}, "has scale 'small', but .* has 'smoke'; join results that agree"),
        ({"form": "decoder-only"}, "has form 'decoder-only'"),
        ({"tasks": [{**record["tasks"][0], "trained": 20}]}, "have different examples of copy; join"),
        (
            {"trainings": [{**run, "seed": 3, "updates": 8} for run in record["trainings"]]},
            "has 8 updates of rope copy, but .* has 4; join results that agree",
        ),
        ({"kind": "table"}, "holds 'table', which is no kind that can be joined"),
    ):
        other.write_text(json.dumps({**record, **change}))
        with pytest.raises(InputError, match=message):
            joined(home, one, other)


@pytest.mark.parametrize(
    ("other", "note"),
    [("copy", "seeds: 1, 2, 3; mean"), ("replace", "seeds: 1, 2 (copy); 3 (replace); mean")],
    ids=["one task", "two tasks"],
)
def test_the_table_tells_seeds_by_task_where_they_differ(home, other, note):
    joined(home, make(home, "first", ["copy"], ["rope"], 1, 2), make(home, "second", [other], ["rope"], 3))
    notes = (home / "joined.md").read_text().splitlines()
    assert {f"- {note} ± standard deviation", "- updates of each training run: 4"} <= set(notes)
