"""The one exception for mistakes in what a user gave."""


class InputError(ValueError):
    """Bad input. Its message is one line that names the value, the limit and the cure.

    Command-line programs print it without a traceback: ``fairseq-posenc`` itself, and the stock fairseq
    commands through ``fairseq_compat``, which knows the class by ``one_line``.
    """

    one_line = True
