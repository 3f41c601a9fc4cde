"""What the README says of the committed results."""

import pytest

from examples.length.readme_tables import KAZEMNEJAD, LANGUAGE_MODELS, NAME, read, solved
from fairseq_posenc.tables import groups


def exact_of(result):
    """{(task, system, band): exact match}."""
    return {(row["task"], row["name"], row["band"]): row["exact"] for row in read(result)["summary"]}


@pytest.fixture(scope="module")
def exact():
    return exact_of(NAME)


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
    usual, longer = exact_of(KAZEMNEJAD), exact_of("kazemnejad-longer")
    for task in ("copy", "copy-twice", "reverse"):
        assert longer[task, "none", "seen"] > usual[task, "none", "seen"] + 5
        assert longer[task, "none", "unseen"] < 5


def test_language_models_with_all_encodings():
    found = exact_of(LANGUAGE_MODELS)
    over = {of[:2] for of, exact in found.items() if of[2] == "unseen" and exact > 95}
    assert over == {("copy", "alibi"), ("copy", "kerple-log"), ("copy", "kerple-power"), ("sort", "none")}
    both = {name: min(found["copy", name, "unseen"], found["sort", name, "unseen"]) for _, name, _ in found}
    assert max(both, key=both.get) == "sandwich-smoothed" and round(both["sandwich-smoothed"]) == 44


def test_gates_that_forget_slowly_at_first_learn_to_copy_with_every_seed():
    first, others = exact_of(LANGUAGE_MODELS), exact_of("decoder-only-forgetting")
    assert first["copy", "forgetting", "seen"] < 5 and others["copy", "forgetting", "seen"] > 95
    assert first["copy", "forgetting-slow", "seen"] > 95 and others["copy", "forgetting-slow", "seen"] > 95
