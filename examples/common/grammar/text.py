"""From a list of words to a written sentence, in either language."""

import re


def written(words, mark):
    """The words and commas as a sentence with a capital letter, ending with ``mark``."""
    text = " ".join(word for word in words if word)
    text = re.sub(r"(\s*,)+", ",", text).strip(" ,") + mark
    return text[0].upper() + text[1:]
