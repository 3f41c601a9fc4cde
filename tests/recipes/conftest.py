"""Runs the scripts of the recipe."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WMT14 = ROOT / "examples" / "wmt14"

#: Variables that the scripts read: none of the caller's may reach them.
VARIABLES = (
    *("SCALE", "CORPUS", "WORK", "DRY_RUN", "SEED", "SEEDS", "SET", "VENV", "QUIET", "JOBS", "WORKERS", "NAME"),
    *("AVERAGE", "JSON", "GPUS", "NNODES", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"),
)


@pytest.fixture(scope="session")
def recipe():
    """A function that runs a script of the recipes: ``recipe("train.sh", "none", "en-de", "base", SCALE="smoke")``."""

    def run(script, *arguments, **variables):
        environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        environment |= {"VENV": sys.prefix, "WORKERS": "1", "OMP_NUM_THREADS": "1"}
        environment |= {name: str(value) for name, value in variables.items()}
        command = ["bash", str(WMT14 / script), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    return run


@pytest.fixture(scope="session")
def corpus():
    """The quickstart's corpus: {split: [(English, German), ...]}."""
    from examples.common.grammar import corpus as grammar

    return grammar.corpus(1)


@pytest.fixture(scope="session")
def smoke(recipe, tmp_path_factory):
    """($WORK with the data of SCALE=smoke, the result of a preparation that was killed, that of its continuation)."""
    folder = tmp_path_factory.mktemp("smoke")
    for name, script in {"fairseq-preprocess": "kill -9 $PPID", "python": f'exec {sys.executable} "$@"'}.items():
        (folder / "bin" / name).parent.mkdir(exist_ok=True)
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / "bin" / name).chmod(0o755)
    work = folder / "work"
    # The scripts look into VENV/bin first.
    killed = recipe("prepare.sh", "en-de", SCALE="smoke", WORK=work, VENV=folder)
    assert not (work / "smoke" / "en-de" / "binary").exists()
    return work, killed, recipe("prepare.sh", "en-de", SCALE="smoke", WORK=work)
