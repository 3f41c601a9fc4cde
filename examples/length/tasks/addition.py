"""Binary addition: Delétang et al. (2022), with the lowest bit first."""

from examples.length.tasks.task import BITS, Task, draw


def bits(number, count):
    """The lowest ``count`` bits of a number, the lowest first."""
    return [str(number >> place & 1) for place in range(count)]


def addition(random, length):
    left, right = draw(random, BITS, length), draw(random, BITS, length)
    total = sum(int("".join(reversed(operand)), 2) for operand in (left, right))
    return [*left, "+", *right], bits(total, length + 1)


TASKS = (
    Task(
        "binary-addition",
        "two binary numbers of n bits, the lowest bit first: their sum in n + 1 bits",
        "Delétang et al. 2022",
        addition,
        length_of="bits of each number",
        prompt=lambda n: 2 * n + 1,
        answer=lambda n: n + 1,
    ),
)
