"""Bash is for what one runs by hand: little of it, and clean."""

import shutil
import subprocess

import pytest

from tests.recipes.conftest import ROOT

SCRIPTS = sorted(path for folder in ("examples", "scripts") for path in (ROOT / folder).rglob("*.sh"))


def test_there_is_little_of_it():
    lines = {path: path.read_text().count("\n") for path in SCRIPTS}
    assert sum(lines.values()) <= 900
    assert not {path: count for path, count in lines.items() if count > 150 and path.name != "setup.sh"}


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_shellcheck_finds_nothing():
    done = subprocess.run(["shellcheck", *SCRIPTS], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout
