"""Build the extensions missing from fairseq's source release, into the installed fairseq.

    python scripts/build_extensions.py              # libnat: insertion and Levenshtein Transformers
    python scripts/build_extensions.py CHECKOUT     # libnat and libbase (BASE layers) from fairseq's repository

The source release of fairseq 0.12.2 contains the source of neither. The release 0.9.0 contains libnat, with the same
functions; no release contains libbase.
"""

import importlib.util
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from setuptools import Distribution, Extension
from torch.utils import cpp_extension

LIBNAT = "fairseq/clib/libnat/edit_dist.cpp"
LIBBASE = "fairseq/clib/libbase/balanced_assignment.cpp"
RELEASE = "0.9.0"


def main(checkout=None):
    """Build the extensions whose sources are available; any error ends the script."""
    for name in (LIBNAT, LIBBASE) if checkout is not None else ():
        if not (Path(checkout) / name).is_file():
            sys.exit(f"error: {Path(checkout) / name} is missing; give the directory of fairseq's repository")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if checkout is None:
            build([libnat(download(folder), folder)], folder)
        else:
            libbase = cpp_extension.CppExtension("fairseq.libbase", [str(Path(checkout) / LIBBASE)])
            build([libnat(Path(checkout) / LIBNAT, folder), libbase], folder)


def download(folder):
    """Download libnat's source from the release that contains it; return its path."""
    options = ["--no-deps", "--no-binary", "fairseq", "--dest", str(folder), f"fairseq=={RELEASE}"]
    if subprocess.run([sys.executable, "-m", "pip", "download", *options]).returncode != 0:
        sys.exit(f"error: pip could not fetch the source release of fairseq {RELEASE}")
    source = folder / "edit_dist.cpp"
    with tarfile.open(folder / f"fairseq-{RELEASE}.tar.gz") as archive:
        source.write_bytes(archive.extractfile(f"fairseq-{RELEASE}/{LIBNAT}").read())
    return source


def libnat(source, folder):
    """Return the extension. Its source includes PyTorch's header, but uses only pybind11.

    With pybind11 alone it compiles in seconds, and works with any version of PyTorch.
    """
    (folder / "torch").mkdir()
    header = "#include <cstdint>\n#include <pybind11/pybind11.h>\n#include <pybind11/stl.h>\n"
    (folder / "torch" / "torch.h").write_text(header)
    include = [str(folder), *cpp_extension.include_paths()]
    flags = [] if sys.platform == "win32" else ["-std=c++17", "-g0"]
    return Extension("fairseq.libnat", [str(source)], include_dirs=include, language="c++", extra_compile_args=flags)


def build(extensions, folder):
    """Compile the extensions into the package folder of the installed fairseq."""
    installed = Path(importlib.util.find_spec("fairseq").submodule_search_locations[0])
    builder = cpp_extension.BuildExtension.with_options(use_ninja=False)
    distribution = Distribution({"ext_modules": extensions, "cmdclass": {"build_ext": builder}})
    command = distribution.get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(installed.parent), str(folder)
    command.ensure_finalized()
    command.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
