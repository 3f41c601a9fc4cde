"""Provenance of results, and how they are written: every result has its command, commit and versions."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

from fairseq_posenc import __version__
from fairseq_posenc.errors import InputError
from fairseq_posenc.memory import installed_memory
from fairseq_posenc.outputs import check_output

PACKAGE = Path(__file__).resolve().parent
LIBRARIES = (
    *("fairseq", "torch", "numpy", "sacrebleu", "sacremoses", "subword-nmt", "sentencepiece", "scipy"),
    *("ctranslate2", "transformers"),
)


def provenance():
    """Return the information needed to repeat this run, ready for JSON.

    ``command``: list of arguments; ``commit``: of the source checkout of this package, None outside a checkout;
    ``uncommitted_changes``: whether the package differs from that commit, None outside a checkout;
    ``date``: UTC, ISO 8601; ``versions``: name to version, None where not installed; ``hardware``: the machine's
    ``cpu``, usable ``cores``, ``memory_gib`` and ``gpus``.
    """
    commit, changed = _commit()
    return {
        "command": _command(),
        "commit": commit,
        "uncommitted_changes": changed,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": _versions(),
        "hardware": _hardware(),
    }


def check_json_target(path):
    """Raise InputError if ``write_json(path, ...)`` could not write; for checks before long work."""
    target = Path(path).resolve()
    check_output(f"cannot write {path}", target, f".{target.name}.12345678.tmp")


def write_json(path, record):
    """Write a record atomically as indented UTF-8 JSON: readers see the old file or the complete new one.

    Raises InputError if the file cannot be written.
    """
    check_json_target(path)
    target = Path(path).resolve()
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        # In Python, file names that are not UTF-8 contain lone surrogates; JSON has the same escapes for them.
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        # mkstemp creates files that only their owner can read; results get the usual permissions.
        os.chmod(temporary, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        if temporary is not None:
            os.unlink(temporary)
        raise InputError(f"cannot write {path}: {error.strerror}; free some space or choose another place") from None


def _umask():
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _command():
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is not None:  # python -m
        return ["python", "-m", spec.name.removesuffix(".__main__"), *sys.argv[1:]]
    return [Path(sys.argv[0]).name, *sys.argv[1:]]


def _output_of(*command):
    """Return the standard output of a command; None if the command is missing, fails or hangs."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _commit():
    git = ("git", "-C", str(PACKAGE))
    # An installed copy may be inside another project's checkout, for example in a virtual environment.
    if _output_of(*git, "ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None, None
    return _output_of(*git, "rev-parse", "HEAD"), _output_of(*git, "status", "--porcelain", "--", ".") != ""


def _versions():
    versions = {"python": platform.python_version(), "fairseq_posenc": __version__}
    for library in LIBRARIES:
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            versions[library] = None
    return versions


def _hardware():
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": _memory_gib(),
        "gpus": (_output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader") or "").splitlines(),
    }


def _cpu_model():
    try:
        described = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        described = []
    names = (line.split(":", 1)[1].strip() for line in described if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _memory_gib():
    installed = installed_memory()
    return None if installed is None else round(installed / 2**30, 1)
