"""The answers of the tasks, computed again by naive code; the lengths, and the bounds that generation relies on."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.length.tasks import TASKS, find
from examples.length.tasks.scan import by_length
from fairseq_posenc.errors import InputError


def number(bits):
    return sum(int(bit) * 2**place for place, bit in enumerate(bits))


def added(words):
    plus = words.index("+")
    return number(words[:plus]) + number(words[plus + 1 :])


def hidden(words):
    place, half = words.index("_"), len(words) // 2
    return [words[(place + half) % len(words)]]


def after_key(words):
    place = words.index("key")
    return words[place + 1 : place + 6]


def action_of(words):
    """The actions of a SCAN command, by its words from the outside in."""
    for joint in ("and", "after"):
        if joint in words:
            place = words.index(joint)
            parts = [action_of(words[:place]), action_of(words[place + 1 :])]
            return parts[0] + parts[1] if joint == "and" else parts[1] + parts[0]
    if words[-1] in ("twice", "thrice"):
        return action_of(words[:-1]) * (2 if words[-1] == "twice" else 3)
    verb = [] if words[0] == "turn" else [words[0].upper()]
    if len(words) == 1:
        return verb
    turn = [words[-1][0].upper() + "TURN"]
    if "around" in words:
        return 4 * (turn + verb)
    return turn * (2 if "opposite" in words else 1) + verb


#: {task: naive function from the input to the output}.
ANSWERS = {
    "copy": lambda words: words,
    "copy-twice": lambda words: [*words, *words],
    "repeat": lambda words: words,
    "replace": lambda words: [words[0] for _ in words[2:]],
    "reverse": lambda words: [words[-place] for place in range(1, len(words) + 1)],
    "sort": lambda words: [digit for digit in "12345" for word in words if word == digit],
    "even-pairs": lambda words: [str(int(sum(one != two for one, two in pairwise(words)) % 2 == 0))],
    "parity": lambda words: [str(sum(map(int, words)) % 2)],
    "first": lambda words: [words[0]],
    "missing-duplicate": hidden,
    "scan": action_of,
    "passkey": after_key,
}
#: {task: length of an input and its output}; the number of tokens of the input without an entry.
LENGTHS = {
    "replace": lambda words, answer: words.count(words[2]),
    "binary-addition": lambda words, answer: words.index("+"),
    "scan": lambda words, answer: len(answer),
}


@pytest.mark.parametrize("name", TASKS)
@given(seed=st.integers(0, 10**6), wanted=st.integers(1, 60))
def test_examples_are_right(name, seed, wanted):
    task = TASKS[name]
    length = next(length for length in range(wanted, 0, -1) if task.exists(length)) if wanted >= 6 else None
    if length is None:
        length = next(length for length in range(wanted, 60) if task.exists(length))
    words, answer = task.sample(Random(seed), length)
    if name == "binary-addition":
        assert number(answer) == added(words) and len(answer) == length + 1
    else:
        assert answer == ANSWERS[name](words)
    assert LENGTHS.get(name, lambda words, answer: len(words))(words, answer) == length
    assert len(words) <= task.prompt(length) and len(answer) <= task.answer(length)
    assert "=" not in words + answer
    assert task.sample(Random(seed), length) == (words, answer)


@pytest.mark.parametrize("name", sorted(set(TASKS) - {"scan"}))
def test_the_bounds_are_reached(name):
    task = TASKS[name]
    words, answer = task.sample(Random(1), 12)
    assert (len(words), len(answer)) == (task.prompt(12), task.answer(12))


@pytest.mark.parametrize("name", ["even-pairs", "parity", "first", "missing-duplicate"])
def test_both_answers_are_frequent(name):
    random = Random(1)
    yes = sum(TASKS[name].sample(random, 12)[1] == ["1"] for _ in range(400))
    assert 150 < yes < 250


def test_scan_has_the_commands_of_the_language_and_of_its_length_split():
    lengths = by_length()
    assert sum(map(len, lengths.values())) == 20_910
    # Lake and Baroni 2018: 16,990 commands for training, 3,920 for testing, of at most 48 actions.
    assert sum(len(found) for length, found in lengths.items() if length <= 22) == 16_990
    assert min(length for length in lengths if length > 22) == 24 and max(lengths) == 48
    assert len({tuple(words) for found in lengths.values() for words, _ in found}) == 20_910
    assert max(len(words) for found in lengths.values() for words, _ in found) == TASKS["scan"].prompt(1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("revers", "task revers is unknown; did you mean reverse?"),
        ("addition", "task addition is unknown; did you mean binary-addition?"),
        ("xyz", "task xyz is unknown; choose from copy, copy-twice, "),
    ],
)
def test_an_unknown_task_has_a_suggestion(name, message):
    with pytest.raises(InputError) as caught:
        find(name)
    assert str(caught.value).startswith(message)
