"""A small corpus, prepared by the stock command, and stock commands with our --user-dir."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


def run(*words, stdin=None, status=0, env=None):
    """Run a command; return stdout and stderr together. Asserts the exit status."""
    done = subprocess.run(
        [str(word) for word in words],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})},
        cwd="/",
        timeout=300,
    )
    assert done.returncode == status, done.stdout[-3000:]
    return done.stdout


def stock(command, *words, **options):
    """A stock fairseq command that loads the plugin."""
    return run(BIN / command, *words, "--user-dir", ROOT / "fairseq_posenc", **options)


def one_line(out):
    """The last line of the output; there must be no traceback before it."""
    assert "Traceback" not in out
    return out.strip().split("\n")[-1]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """Binarised sentences w1 w2 .. -> reversed, of 3 to 9 words out of 12."""
    folder = tmp_path_factory.mktemp("corpus")
    random.seed(1)
    for split, count in (("train", 300), ("valid", 20), ("test", 20)):
        sentences = [[f"w{random.randrange(12)}" for _ in range(random.randint(3, 9))] for _ in range(count)]
        (folder / f"{split}.src").write_text("".join(" ".join(s) + "\n" for s in sentences))
        (folder / f"{split}.tgt").write_text("".join(" ".join(reversed(s)) + "\n" for s in sentences))
    splits = [word for split in ("train", "valid", "test") for word in (f"--{split}pref", folder / split)]
    destination = folder / "bin"
    run(BIN / "fairseq-preprocess", "-s", "src", "-t", "tgt", *splits, "--joined-dictionary", "--destdir", destination)
    return destination
