"""Questions about strings of bits, with an answer of one bit; the answer yes is 1."""

from examples.length.tasks.task import BITS, Task, draw

DELETANG = "Delétang et al. 2022"


def one(length):
    return 1


def even_pairs(random, length):
    # A string has as many 01 as 10, or one more of either. So their number is even if it ends as it begins.
    word = draw(random, BITS, length)
    return word, ["1" if word[0] == word[-1] else "0"]


def parity(random, length):
    word = draw(random, BITS, length)
    return word, [str(word.count("1") % 2)]


def first(random, length):
    word = draw(random, BITS, length)
    return word, word[:1]


def missing_duplicate(random, length):
    """A word twice, with one bit hidden; ``length`` is even."""
    word = 2 * draw(random, BITS, length // 2)
    place = random.randrange(length)
    answer, word[place] = word[place], "_"
    return word, [answer]


TASKS = (
    Task(
        "even-pairs",
        "a string of bits: whether 01 and 10 together occur an even number of times",
        DELETANG,
        even_pairs,
        answer=one,
    ),
    Task("parity", "a string of bits: whether the number of ones is odd", DELETANG, parity, answer=one),
    Task("first", "a string of bits: the first one", "Chiang and Cholak 2022", first, answer=one),
    Task(
        "missing-duplicate",
        "a string of bits twice, with one bit hidden: this bit",
        DELETANG,
        missing_duplicate,
        answer=one,
        exists=lambda length: length >= 2 and length % 2 == 0,
    ),
)
