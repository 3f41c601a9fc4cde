"""Runs stock fairseq commands in processes of their own, and makes the toy corpus they work on."""

import os
import random
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent

TINY = [
    *("--encoder-layers", "1", "--decoder-layers", "1", "--encoder-embed-dim", "16", "--decoder-embed-dim", "16"),
    *("--encoder-ffn-embed-dim", "32", "--decoder-ffn-embed-dim", "32"),
    *("--encoder-attention-heads", "2", "--decoder-attention-heads", "2"),
]
TRAINING = [
    *("--optimizer", "adam", "--lr", "0.003", "--max-tokens", "400", "--max-update", "4"),
    *("--no-progress-bar", "--log-format", "simple", "--seed", "1", "--num-workers", "0"),
]
TRANSLATION = ["--arch", "transformer_iwslt_de_en", *TINY, *TRAINING]
LANGUAGE_MODEL = [
    *("--task", "language_modeling", "--arch", "transformer_lm", "--decoder-layers", "1", "--decoder-embed-dim", "16"),
    *("--decoder-ffn-embed-dim", "32", "--decoder-attention-heads", "2", "--tokens-per-sample", "32", *TRAINING),
]


def environment(**changes):
    """The environment of a child process: one thread, without the compatibility settings of this process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FAIRSEQ_COMPAT")}
    return {**kept, "OMP_NUM_THREADS": "1", **changes}


def run(*command, cwd=None, stdin=None, **variables):
    """Run ``command`` to its end; return the finished process with its text output."""
    command = [str(part) for part in command]
    return subprocess.run(
        command, cwd=cwd, input=stdin, env=environment(**variables), capture_output=True, text=True, timeout=300
    )


def python(code, *arguments, **options):
    """Run Python code in a fresh interpreter."""
    return run(sys.executable, "-c", code, *arguments, **options)


def fairseq(command, *arguments, **options):
    """Run the stock console script ``fairseq-COMMAND``."""
    return run(BIN / f"fairseq-{command}", *arguments, **options)


def succeeded(process):
    """Return the process if it ended well; show its output otherwise."""
    assert process.returncode == 0, f"{process.args}\n{process.stdout[-2000:]}\n{process.stderr[-4000:]}"
    return process


def write_corpus(directory, sentences):
    """Write train, valid and test files: random words, and the same words reversed as their translation.

    Lengths differ, so that every batch is padded.
    """
    draw = random.Random(0)
    words = [f"w{number}" for number in range(30)]
    for split, count in sentences.items():
        sources = [[draw.choice(words) for _ in range(draw.randint(2, 12))] for _ in range(count)]
        targets = [[word.replace("w", "v") for word in reversed(source)] for source in sources]
        for language, lines in (("src", sources), ("tgt", targets)):
            text = "".join(" ".join(line) + "\n" for line in lines)
            (directory / f"{split}.{language}").write_text(text, encoding="utf-8")
