"""The exception for bad user input."""


class InputError(ValueError):
    """Bad input. The message is one line with the value, the limit and the cure.

    ``fairseq-posenc`` prints it without a traceback, and so do the stock fairseq commands through ``fairseq_compat``,
    which recognises the class by its attribute ``one_line``.
    """

    one_line = True
