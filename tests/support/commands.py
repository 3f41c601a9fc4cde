"""Runs commands in processes of their own, and writes the small texts that they work on."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import preloaded

BIN = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parents[2]

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


#: What every small translation model of ours is trained with.
PLUGIN_TRAINING = (
    *("--optimizer", "adam", "--lr", "0.003", "--lr-scheduler", "inverse_sqrt", "--warmup-updates", "5"),
    *("--criterion", "label_smoothed_cross_entropy", "--label-smoothing", "0.1", "--max-tokens", "400"),
    *("--share-all-embeddings", "--no-progress-bar", "--no-epoch-checkpoints", "--seed", "1"),
)


def environment(**changes):
    """The environment of a child process: one thread, without the compatibility settings of this process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FAIRSEQ_COMPAT")}
    return {**kept, "OMP_NUM_THREADS": "1", **changes}


def run(*command, cwd=None, stdin=None, limit=300, **variables):
    """Run ``command`` to its end; return the finished process with its text output.

    A command that takes more than ``limit`` seconds fails with the Python stacks of all its processes.
    """
    command = [str(part) for part in command]
    variables = environment(PYTHONFAULTHANDLER="1", **variables)
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=cwd, env=variables, text=True, **pipes) as process:
        try:
            stdout, stderr = process.communicate(stdin, timeout=limit)
        except subprocess.TimeoutExpired:
            preloaded.abort(process.pid)
            stdout, stderr = process.communicate()
            pytest.fail(f"{command} did not end within {limit} seconds\n{stdout[-2000:]}\n{stderr[-20000:]}")
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def python(code, *arguments, **options):
    """Run Python code in a fresh interpreter."""
    return run(sys.executable, "-c", code, *arguments, **options)


def fairseq(command, *arguments, **options):
    """Run the stock console script ``fairseq-COMMAND`` in a fork of a process that has fairseq imported."""
    return forked(BIN / f"fairseq-{command}", *arguments, **options)


def fresh_fairseq(command, *arguments, **options):
    """Run the stock console script ``fairseq-COMMAND`` in a process that imports all anew."""
    return run(BIN / f"fairseq-{command}", *arguments, **options)


def forked(*command, cwd=None, stdin=None, limit=300, **variables):
    """As ``run``, for a Python script, in a fork of a process that has fairseq imported.

    Environment variables that are read while fairseq is imported come too late.
    """
    command = [str(part) for part in command]
    status, *printed = preloaded.run(command, environment(**variables), cwd or os.getcwd(), stdin, limit)
    if status is None:
        pytest.fail(f"{command} did not end within {limit} seconds\n{printed[0][-2000:]}\n{printed[1][-20000:]}")
    return subprocess.CompletedProcess(command, status, *printed)


def succeeded(process):
    """Return the process if it ended well; show its output otherwise."""
    assert process.returncode == 0, f"{process.args}\n{process.stdout[-2000:]}\n{process.stderr[-4000:]}"
    return process


def output(*words, stdin=None, status=0, env=None):
    """Run a command; return stdout and stderr together. Asserts the exit status."""
    own = str(words[0]).startswith(str(BIN / "fairseq-"))
    done = (forked if own else run)(*words, cwd="/", stdin=stdin, **(env or {}))
    printed = done.stdout + done.stderr
    assert done.returncode == status, printed[-3000:]
    return printed


def with_plugin(command, *words, **options):
    """The output of a stock fairseq command that loads the plugin."""
    return output(BIN / command, *words, "--user-dir", ROOT / "fairseq_posenc", **options)


def refused(process, command):
    """The error line of a process that must print nothing else of the error."""
    assert process.returncode == 2, process.stderr
    assert "Traceback" not in process.stderr
    (line,) = [line for line in process.stderr.splitlines() if "error:" in line]
    assert line.startswith(f"fairseq-{command}: error: ")
    return line


def one_line(out):
    """The last line of the output; there must be no traceback before it."""
    assert "Traceback" not in out
    return out.strip().split("\n")[-1]


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
