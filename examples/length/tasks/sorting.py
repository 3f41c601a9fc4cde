"""Bucket sort: the strings over five symbols of Delétang et al. (2022)."""

from examples.length.tasks.task import Task, draw

FIVE = ("1", "2", "3", "4", "5")


def sort(random, length):
    word = draw(random, FIVE, length)
    return word, sorted(word)


TASKS = (Task("sort", "a string over five symbols: its symbols in their order", "Delétang et al. 2022", sort),)
