"""Copying: the strings of Kazemnejad et al. (2023), and reversal of Delétang et al. (2022)."""

from examples.length.tasks.task import SYMBOLS, Task, draw

KAZEMNEJAD = "Kazemnejad et al. 2023"
#: Many, because a length has only as many examples of "repeat" as there are symbols.
MANY = tuple(f"s{number}" for number in range(100))


def copy(random, length):
    word = draw(random, SYMBOLS, length)
    return word, word


def copy_twice(random, length):
    word = draw(random, SYMBOLS, length)
    return word, word + word


def repeat(random, length):
    word = [random.choice(MANY)] * length
    return word, word


def replace(random, length):
    old, new = random.sample(MANY, 2)
    return [new, ":", *[old] * length], [new] * length


def reverse(random, length):
    word = draw(random, SYMBOLS, length)
    return word, word[::-1]


TASKS = (
    Task("copy", "a random string: the same string", KAZEMNEJAD, copy),
    Task("copy-twice", "a random string: the string, and once more", KAZEMNEJAD, copy_twice, answer=lambda n: 2 * n),
    Task("repeat", "one symbol n times: the same", KAZEMNEJAD, repeat),
    Task(
        "replace",
        "a new symbol and an old one n times: the new one n times",
        KAZEMNEJAD,
        replace,
        length_of="times of the old symbol",
        prompt=lambda n: n + 2,
    ),
    Task("reverse", "a random string: the string backwards", "Delétang et al. 2022", reverse),
)
