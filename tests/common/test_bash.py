"""Bash is for what one runs by hand: little of it, and clean."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.recipes import ROOT

SCRIPTS = sorted(path for folder in ("examples", "scripts") for path in (ROOT / folder).rglob("*.sh"))


def test_there_is_little_of_it():
    lines = {path: path.read_text().count("\n") for path in SCRIPTS}
    assert sum(lines.values()) <= 900
    assert not {path: count for path, count in lines.items() if count > 150}


def test_shellcheck_finds_nothing():
    # Beside the interpreter, which need not be in PATH.
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert shellcheck, "run scripts/setup.sh"
    done = subprocess.run([shellcheck, *SCRIPTS], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout
