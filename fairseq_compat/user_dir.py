"""``--user-dir`` by path, as in stock fairseq, or by the name of an installed package."""

import argparse
import importlib.util
import os
import sys


class UserDirError(FileNotFoundError):
    """A --user-dir that is neither a directory nor an installed package."""

    one_line = True


class UserDirectories:
    """Loads plugins with fairseq's own ``import_user_module``, and those that this function cannot load."""

    def __init__(self, stock):
        self.stock = stock
        self.registered = set()

    def load(self, user_dir):
        """Import the plugin ``user_dir`` and register its tasks and models, once; do nothing for None.

        Raises UserDirError if there is neither such a directory nor such a package.
        """
        if user_dir is None:
            return
        path = _directory(user_dir)
        imported = sys.modules.get(os.path.basename(path))
        if imported is not None and _is_at(imported, path):
            # The stock function assumes that an imported package is registered already, and skips its models.
            self._register(imported.__name__, path)
            return
        self.stock(argparse.Namespace(user_dir=path))
        self.registered.add(os.path.realpath(path))

    def _register(self, name, path):
        if os.path.realpath(path) in self.registered:
            return
        self.registered.add(os.path.realpath(path))
        from fairseq.models import import_models
        from fairseq.tasks import import_tasks

        for folder, import_all in (("tasks", import_tasks), ("models", import_models)):
            if os.path.isdir(os.path.join(path, folder)):
                import_all(os.path.join(path, folder), f"{name}.{folder}")


def _directory(user_dir):
    """Resolve ``user_dir`` to a directory."""
    import fairseq

    here = os.path.abspath(user_dir)
    if os.path.exists(here):
        return here
    if user_dir.isidentifier():
        spec = importlib.util.find_spec(user_dir)
        if spec is not None and spec.submodule_search_locations:
            return os.path.abspath(list(spec.submodule_search_locations)[0])
    beside_fairseq = os.path.dirname(fairseq.__file__)
    for parent in (beside_fairseq, os.path.dirname(beside_fairseq)):
        if os.path.exists(os.path.join(parent, user_dir)):
            return os.path.abspath(os.path.join(parent, user_dir))
    raise UserDirError(
        f"--user-dir {user_dir} is neither a directory ({here}) nor an installed package; "
        "give the path of a plugin's directory, or install the package"
    )


def _is_at(package, path):
    return any(os.path.realpath(place) == os.path.realpath(path) for place in getattr(package, "__path__", ()))
