"""The exception for bad user input."""


class InputError(ValueError):
    """Bad input. The message is one line with the value, the limit and the cure.

    ``fairseq-posenc`` prints it without a traceback, and so do the stock fairseq commands through ``fairseq_compat``,
    which recognises the class by its attribute ``one_line``.
    """

    one_line = True

    def __init__(self, message: str) -> None:
        # Values and file names may hold line breaks, and characters that a terminal acts on.
        super().__init__("".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in message))
