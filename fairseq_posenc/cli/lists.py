"""argparse types of comma-separated lists."""

import argparse


def words(text):
    """A list of strings."""
    return text.split(",")


def numbers(text):
    """A list of integers."""
    try:
        return [int(word) for word in words(text)]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text}: give whole numbers separated by commas, such as 128,256,512"
        ) from None
