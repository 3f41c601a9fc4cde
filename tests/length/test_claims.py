"""What the README says of the committed results."""

import pytest

from examples.length.readme_tables import KAZEMNEJAD, LANGUAGE_MODELS, NAME, read, solved
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
    unseen = [row for row in read(KAZEMNEJAD)["summary"] if row["band"] == "unseen" and row["exact"] > 95]
    found = {name: {row["task"] for row in rows} for name, rows in groups(unseen, "name").items()}
    assert found == {"rope-quarter": {"repeat", "replace"}, "none": {"repeat"}}


def test_a_longer_training_of_none_helps_at_the_trained_lengths_alone():
    usual, longer = (
        {(row["task"], row["band"]): row["exact"] for row in read(result)["summary"] if row["name"] == "none"}
        for result in (KAZEMNEJAD, "kazemnejad-longer")
    )
    for task in ("copy", "copy-twice", "reverse"):
        assert longer[task, "seen"] > usual[task, "seen"] + 5
        assert longer[task, "unseen"] < 5


def test_language_models_with_all_encodings():
    found = {(row["name"], row["task"], row["band"]): row["exact"] for row in read(LANGUAGE_MODELS)["summary"]}
    over = {of[:2] for of, exact in found.items() if of[2] == "unseen" and exact > 95}
    assert over == {("alibi", "copy"), ("kerple-log", "copy"), ("kerple-power", "copy"), ("none", "sort")}
    both = {name: min(found[name, "copy", "unseen"], found[name, "sort", "unseen"]) for name, _, _ in found}
    assert max(both, key=both.get) == "sandwich-smoothed" and round(both["sandwich-smoothed"]) == 44


def test_gates_that_forget_slowly_at_first_learn_to_copy_with_every_seed():
    def exact(result, name):
        (found,) = (
            row["exact"]
            for row in read(result)["summary"]
            if (row["name"], row["task"], row["band"]) == (name, "copy", "seen")
        )
        return found

    assert exact(LANGUAGE_MODELS, "forgetting") < 5
    assert exact("decoder-only-forgetting", "forgetting") > 95
    assert exact(LANGUAGE_MODELS, "forgetting-slow") > 95 and exact("decoder-only-forgetting", "forgetting-slow") > 95
