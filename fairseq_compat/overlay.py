"""A module with a few names replaced, as seen by one importing module only."""

import types


class Overlay(types.ModuleType):
    """``base`` with the attributes ``replaced``; everything else comes from ``base``, also what it gains later.

    Put into one module's namespace, it cures that module without changing ``base`` for the rest of the process.
    """

    def __init__(self, base, **replaced):
        super().__init__(base.__name__, base.__doc__)
        self.__dict__.update(replaced, _base=base)

    def __getattr__(self, name):
        return getattr(self.__dict__["_base"], name)
