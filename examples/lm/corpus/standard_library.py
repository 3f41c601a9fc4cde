"""Write the source code of this Python's standard library as training, validation and test text: OUTPUT/SPLIT.jsonl.

One module is one document. The text depends on the version of Python; counts.json has the version and a hash of the
text. Packages that some distributions install separately or not at all are left out, so that the text is the same on
other machines. Generated modules are left out too.
"""

import argparse
import platform
import sysconfig
import tokenize
from pathlib import Path

from examples.common.command_line import run_main
from examples.lm.corpus import splits
from fairseq_posenc.errors import InputError

SEPARATE = {"distutils", "ensurepip", "idlelib", "lib2to3", "msilib", "test", "tests", "tkinter", "turtledemo"}
NOT_LIBRARY = {"site-packages", "dist-packages", "__pycache__"}
GENERATED = {"encodings", "pydoc_data"}


def find(folder):
    """The names of the modules: paths relative to the folder."""
    names = [path.relative_to(folder) for path in folder.rglob("*.py")]
    left_out = SEPARATE | NOT_LIBRARY | GENERATED
    # The modules _sysconfigdata* describe how this Python was built.
    found = [n for n in names if not left_out & set(n.parts[:-1]) and not n.name.startswith("_sysconfigdata")]
    return [name.as_posix() for name in found]


def read(folder, name):
    """The text of a module, in the encoding that it declares."""
    try:
        with tokenize.open(folder / name) as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {folder / name}: {error}; use another Python, or another corpus") from None


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    splits.add_options(parser)
    args = parser.parse_args(argv)
    folder = Path(sysconfig.get_paths()["stdlib"])
    sizes = {name: len(read(folder, name)) for name in find(folder)}
    sizes = {name: size for name, size in sizes.items() if size}
    if len(sizes) < 100:
        raise InputError(
            f"{folder} has only {len(sizes)} modules with source code; use another Python, or prepare.sh documents"
        )
    where = splits.assign(sizes, args.held_out, args.long)
    version = {"python": platform.python_version()}
    splits.write(args.output, where, lambda name: read(folder, name), version, args.limit)


if __name__ == "__main__":
    run_main(main)
