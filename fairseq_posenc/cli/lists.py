"""argparse types of lists with commas."""

import argparse


def words(text):
    """List of words."""
    return text.split(",")


def numbers(text):
    """List of whole numbers."""
    try:
        return [int(word) for word in words(text)]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: give whole numbers with commas, such as 128,256,512") from None
