"""SCAN (Lake and Baroni 2018): commands such as "walk twice and jump left", and the actions that they mean.

The length of an example is the number of its actions, and training ends at 22 of them: SCAN's length split.
"""

import functools

from examples.length.tasks.task import Task

PRIMITIVES = {"walk": ["WALK"], "look": ["LOOK"], "run": ["RUN"], "jump": ["JUMP"], "turn": []}
TURNS = {"left": "LTURN", "right": "RTURN"}
TIMES = {"twice": 2, "thrice": 3}
TRAINED, LONGEST, WORDS = 22, 48, 9


def verbs():
    """[(words, actions)] of all commands without a number."""
    found = [([verb], action) for verb, action in PRIMITIVES.items() if action]
    for verb, action in PRIMITIVES.items():
        for side, turn in TURNS.items():
            found.append(([verb, side], [turn, *action]))
            found.append(([verb, "opposite", side], [turn, turn, *action]))
            found.append(([verb, "around", side], 4 * [turn, *action]))
    return found


def clauses():
    """[(words, actions)] of all commands without "and" and "after"."""
    counted = [([*words, word], times * actions) for words, actions in verbs() for word, times in TIMES.items()]
    return verbs() + counted


@functools.cache
def by_length():
    """{number of actions: [(words, actions)]}: all 20,910 commands, in the order of the grammar."""
    single = clauses()
    found = list(single)
    for one, its_actions in single:
        for other, actions in single:
            found.append(([*one, "and", *other], its_actions + actions))
            found.append(([*one, "after", *other], actions + its_actions))
    lengths = {}
    for words, actions in found:
        lengths.setdefault(len(actions), []).append((words, actions))
    return lengths


def scan(random, length):
    return random.choice(by_length()[length])


TASKS = (
    Task(
        "scan",
        "a command of SCAN: its actions",
        "Lake and Baroni 2018",
        scan,
        length_of="actions",
        prompt=lambda n: WORDS,
        exists=lambda n: n in by_length(),
        trained=TRAINED,
    ),
)
