"""Passkey: a number of five digits somewhere in distracting text, asked for at its end (Mohtashami and Jaggi 2023)."""

from examples.length.tasks.task import Task, draw

DIGITS = tuple("0123456789")
#: Words that carry no key.
FILLER = ("the", "grass", "is", "green", "sky", "blue", "sun", "yellow", "here", "we", "go", "there", "and", "back")
KEY = 5
#: Words of a prompt that are not distracting: the digits, and one word in front of them.
FRAME = KEY + 1


def passkey(random, length):
    key, text = draw(random, DIGITS, KEY), draw(random, FILLER, length - FRAME)
    place = random.randint(0, len(text))
    return [*text[:place], "key", *key, *text[place:]], key


TASKS = (
    Task(
        "passkey",
        "a number of five digits within n - 6 distracting words: the number",
        "Mohtashami and Jaggi 2023",
        passkey,
        answer=lambda n: KEY,
        exists=lambda n: n >= FRAME,
    ),
)
