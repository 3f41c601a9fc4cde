"""Runs the scripts of the recipe."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LM = ROOT / "examples" / "lm"

#: Variables that the scripts read: none of the caller's may reach them.
VARIABLES = (
    *("SCALE", "CORPUS", "TEXT", "PAPER", "WORK", "DRY_RUN", "SEED", "SEEDS", "QUIET", "VENV", "JOBS", "WORKERS"),
    *("NAME", "SIZE", "BATCH", "TOKENS", "DEVICE", "GPUS", "NNODES", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"),
)


def clean_environment(**variables):
    """The environment of a script, with these variables and none of the caller's."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    environment |= {"VENV": sys.prefix, "WORKERS": "1", "OMP_NUM_THREADS": "1"}
    return environment | {name: str(value) for name, value in variables.items()}


@pytest.fixture(scope="session")
def recipe():
    """A function that runs a script of the recipes: ``recipe("train.sh", "xpos", "tiny", SCALE="smoke")``."""

    def run(script, *arguments, **variables):
        command = ["bash", str(LM / script), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=clean_environment(**variables))

    return run


@pytest.fixture(scope="session")
def encodings():
    """What the scripts otherwise ask Python for, as a variable: saves a second a script."""
    from fairseq_posenc.encodings import encoding_names

    return {"known_encodings": " ".join(encoding_names())}


@pytest.fixture(scope="session")
def smoke(recipe, tmp_path_factory):
    """$WORK with the standard library's data at SCALE=smoke."""
    work = tmp_path_factory.mktemp("smoke") / "work"
    done = recipe("prepare.sh", "stdlib", SCALE="smoke", WORK=work)
    assert done.returncode == 0, done.stdout + done.stderr
    return work
