"""From a list of words to a written sentence; the same for both languages."""

import re


def written(words, mark):
    """Join words (and the commas among them), capitalise the first letter, end with ``mark``."""
    text = " ".join(word for word in words if word)
    text = re.sub(r"(\s*,)+", ",", text).strip(" ,") + mark
    return text[0].upper() + text[1:]
