"""A module with a few names replaced, for one importing module only."""

import types


class Overlay(types.ModuleType):
    """``base`` with the attributes ``replaced``; all other attributes, including later ones, come from ``base``.

    In a module's namespace, it patches that module without changing ``base`` for the rest of the process.
    """

    def __init__(self, base, **replaced):
        super().__init__(base.__name__, base.__doc__)
        self.__dict__.update(replaced, _base=base)

    def __getattr__(self, name):
        return getattr(self.__dict__["_base"], name)
