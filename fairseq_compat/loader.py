"""The loader that runs patches around and after a module's own code."""

import contextlib
import importlib.abc
import sys

from fairseq_compat import registry


def find_spec(own_finder, name, path, target):
    """Return the spec of the other finders for ``name``, with a patching loader if the module has patches."""
    patches = registry.patches_of(name)
    run_as_main = name.startswith("fairseq_cli.")
    if not patches and not run_as_main:
        return None
    others = [finder for finder in sys.meta_path if finder is not own_finder and hasattr(finder, "find_spec")]
    specs = (finder.find_spec(name, path, target) for finder in others)
    spec = next((spec for spec in specs if spec is not None), None)
    if spec is not None and hasattr(spec.loader, "exec_module"):
        spec.loader = PatchingLoader(spec.loader, patches)
    return spec


class PatchingLoader(importlib.abc.Loader):
    """Wraps another loader and applies patches; the loaded module refers to its original loader."""

    def __init__(self, original, patches):
        self.original = original
        self.patches = patches

    def __getattr__(self, name):
        return getattr(self.original, name)

    def create_module(self, spec):
        """Leave creation to the original loader."""
        return self.original.create_module(spec)

    def exec_module(self, module):
        """Run the module with its patches."""
        module.__loader__ = module.__spec__.loader = self.original
        due = [patch for patch in self.patches if registry.is_due(patch, module)]
        with contextlib.ExitStack() as stack:
            for patch in due:
                if patch.around is not None:
                    stack.enter_context(patch.around())
            self.original.exec_module(module)
        for patch in due:
            registry.apply(patch, module)

    def get_code(self, name):
        """Return the code for ``python -m fairseq_cli.NAME``, which calls the command of the patched module.

        runpy executes a module's code without ``exec_module``, so the stock code would run without patches.
        """
        if not name.startswith("fairseq_cli."):
            return self.original.get_code(name)
        source = f"import sys\nfrom {name} import cli_main\nif __name__ == '__main__':\n    sys.exit(cli_main())\n"
        return compile(source, self.original.get_filename(name), "exec")
