"""The files of a task: bands, disjoint parts, the same examples again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.length import data
from examples.length.bands import bands, length_points
from examples.length.tasks import TASKS
from fairseq_posenc.errors import InputError

SIZES = {"train": 400, "valid": 40, "test": 3}


def lengths(task):
    return (22, 48) if task == "scan" else (8, 24)


@pytest.fixture(scope="module")
def made():
    """{task: examples}."""
    return {name: data.examples(task, *lengths(name), SIZES) for name, task in TASKS.items()}


@pytest.mark.parametrize("name", TASKS)
def test_no_input_is_in_two_parts_and_none_is_tested_twice(name, made):
    inputs = {part: [text for _, text, _ in found] for part, found in made[name].items()}
    train, valid, test = (set(inputs[part]) for part in ("train", "valid", "test"))
    assert not train & valid and not train & test and not valid & test
    assert len(inputs["test"]) == len(test) and len(inputs["valid"]) == len(valid)


@pytest.mark.parametrize("name", TASKS)
def test_lengths_are_those_of_the_bands(name, made):
    trained, longest = lengths(name)
    for part in ("train", "valid"):
        assert all(length <= trained for length, *_ in made[name][part])
    found = [length for length, *_ in made[name]["test"]]
    assert found == sorted(found) and max(found) == longest
    for band in bands(trained, longest):
        assert any(band.first <= length <= band.last for length in found), band.name
    # Every length beyond training has as many examples as it should.
    for length in (length for length in set(found) if length > trained):
        assert found.count(length) == SIZES["test"]


def test_all_lengths_are_trained_equally_often(made):
    found = [length for length, *_ in made["copy"]["train"]]
    assert {found.count(length) for length in range(1, 9)} == {50}


def test_examples_depend_on_the_seed_alone(made):
    again, other = (data.examples(TASKS["copy"], 8, 24, SIZES, seed) for seed in (1, 2))
    assert again == made["copy"] and other != again


@given(trained=st.integers(4, 200), more=st.integers(1, 300))
def test_bands_cover_all_lengths_once(trained, more):
    longest = 2 * trained + more
    found = [band for band in bands(trained, longest) if band.name != "unseen"]
    covered = [length for band in found for length in range(band.first, band.last + 1)]
    assert covered == list(range(1, longest + 1))
    (unseen,) = [band for band in bands(trained, longest) if band.name == "unseen"]
    assert (unseen.first, unseen.last) == (found[1].first, found[3].last)
    assert unseen.last == 2 * trained and found[1].last <= 1.25 * trained and found[2].last <= 1.5 * trained
    points = length_points(TASKS["copy"], trained, longest)
    assert points == sorted(set(points)) and points[: 2 * trained] == list(range(1, 2 * trained + 1))
    assert points[-1] == longest and len(points) <= 2 * trained + 12


def test_files(tmp_path):
    arguments = ["--trained", "8", "--longest", "24", "--train", "40", "--valid", "8", "--test", "2"]
    data.main(["reverse", str(tmp_path / "raw"), *arguments])
    for part in ("train", "valid", "test"):
        inputs, outputs, texts = (
            (tmp_path / "raw" / f"{part}.{kind}").read_text().splitlines() for kind in ("input", "output", "text")
        )
        assert texts == [f"{one} = {two}" for one, two in zip(inputs, outputs)]
        assert all(two.split() == one.split()[::-1] for one, two in zip(inputs, outputs))
    prompts, lengths = ((tmp_path / "raw" / f"test.{kind}").read_text().splitlines() for kind in ("prompt", "lengths"))
    assert prompts == [f"{one} =" for one in inputs] and lengths == [str(len(one.split())) for one in inputs]
    record = json.loads((tmp_path / "raw" / "counts.json").read_text())
    assert record["kind"] == "corpus" and record["examples"]["test"] == len(inputs)
    counted = {band["band"]: band["examples"] for band in record["bands"]}
    assert counted["unseen"] == counted["+25%"] + counted["+50%"] + counted["+100%"] == 16
    assert counted["seen"] + counted["unseen"] + counted["further"] == len(inputs)


@pytest.mark.parametrize(
    ("task", "trained", "longest", "message"),
    [
        ("copy", 8, 16, "test lengths up to 16 leave the band further empty; test beyond 16"),
        ("copy", 3, 24, r"training lengths up to 3 leave the band \+25% empty; train up to 4 or more"),
        ("passkey", 5, 24, "task passkey has no example of length 5 or less"),
        ("missing-duplicate", 4, 24, r"task missing-duplicate has no test example in the band \+25%, 5 to 5"),
    ],
)
def test_empty_bands_are_one_line(task, trained, longest, message):
    with pytest.raises(InputError, match=message):
        data.examples(TASKS[task], trained, longest, SIZES)
