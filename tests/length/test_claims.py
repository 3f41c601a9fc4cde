"""What the README says of the committed results."""

import pytest

from examples.length.readme_tables import LANGUAGE_MODELS, NAME, read, solved
from fairseq_posenc.tables import groups


@pytest.fixture(scope="module")
def exact():
    """{(task, system, band): exact match}."""
    return {(row["task"], row["name"], row["band"]): row["exact"] for row in read(NAME)["summary"]}


def test_an_encoder_without_positions_cannot_reverse(exact):
    assert exact["reverse", "none", "seen"] < 25
    assert exact["reverse", "sinusoidal", "seen"] > 95


def test_solved_tasks_are_those_above_95_per_cent():
    (_, *rows) = solved(NAME)
    found = {row["name"]: set() for row in read(NAME)["summary"]}
    for row in read(NAME)["summary"]:
        if row["exact"] > 95:
            found[row["name"]].add((row["band"], row["task"]))
    for name, seen, unseen in rows:
        for band, cell in (("seen", seen), ("unseen", unseen)):
            named = set() if cell == "none" else {part.split()[0] for part in cell.split(", ")}
            assert named == {task for of_band, task in found[name.strip("`")] if of_band == band}


def test_a_language_model_that_solves_two_tasks_at_unseen_lengths():
    unseen = [row for row in read(LANGUAGE_MODELS)["summary"] if row["band"] == "unseen" and row["exact"] > 95]
    found = {name: {row["task"] for row in rows} for name, rows in groups(unseen, "name").items()}
    assert found == {"rope-quarter": {"repeat", "replace"}, "none": {"repeat"}}


def test_a_longer_training_of_none_helps_at_the_trained_lengths_alone():
    usual, longer = (
        {(row["task"], row["band"]): row["exact"] for row in read(result)["summary"] if row["name"] == "none"}
        for result in (LANGUAGE_MODELS, "kazemnejad-longer")
    )
    for task in ("copy", "copy-twice", "reverse"):
        assert longer[task, "seen"] > usual[task, "seen"] + 5
        assert longer[task, "unseen"] < 5
