"""What tests of several files share: small texts and models, made once, and functions that run scripts."""

import gzip
import os
import random
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import settings

import fairseq_posenc.models  # noqa: F401 (makes the processor take denormal numbers as zero)
import tests.support.fuzzing  # noqa: F401 (registers the profiles)
from tests.support.commands import BIN, LANGUAGE_MODEL, TRANSLATION, fairseq, output, succeeded, write_corpus
from tests.support.recipes import LM, WMT14, run_script
from tests.support.translations import REFERENCES

#: The files that take longest, each of which runs in one process: they begin first, so that none is left at the end.
LONGEST_FIRST = (
    *("models/test_commands", "lm/test_chain", "compat/test_patches", "compat/test_stock_commands", "compat/"),
    *("wmt14/", "lm/", "quickstart/", "length/", "cli/", "analysis/test_commands", "plots/", "models/test_learning"),
)

# hypothesis draws denormal numbers too, and refuses to where they are zero.
torch.set_flush_denormal(False)

# Triton reads it while it is imported, which PyTorch's compiler may do.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

ORACLES = Path(__file__).resolve().parents[2] / "shared" / "oracles"


def pytest_configure(config):
    settings.load_profile("fast" if "not slow" in config.option.markexpr else "slow")


def pytest_collection_modifyitems(items):
    def rank(item):
        path = item.path.as_posix()
        return next((place for place, name in enumerate(LONGEST_FIRST) if f"tests/{name}" in path), len(LONGEST_FIRST))

    items.sort(key=rank)


# Stock fairseq


@pytest.fixture(scope="session")
def stock_text(tmp_path_factory):
    """Plain text files train / valid / test . src / tgt."""
    directory = tmp_path_factory.mktemp("corpus")
    write_corpus(directory, {"train": 300, "valid": 20, "test": 20})
    return directory


@pytest.fixture(scope="session")
def stock_data(stock_text):
    """``stock_text`` after fairseq-preprocess, with two worker processes."""
    succeeded(
        fairseq(
            "preprocess",
            *("-s", "src", "-t", "tgt", "--trainpref", "train", "--validpref", "valid", "--testpref", "test"),
            *("--destdir", "data", "--workers", "2"),
            cwd=stock_text,
        )
    )
    return stock_text / "data"


@pytest.fixture(scope="session")
def stock_run(stock_data, tmp_path_factory):
    """A directory of checkpoints of a stock Transformer, trained for four updates with a save after two."""
    directory = tmp_path_factory.mktemp("model")
    succeeded(fairseq("train", stock_data, *TRANSLATION, "--save-dir", directory, "--save-interval-updates", "2"))
    return directory


@pytest.fixture(scope="session")
def stock_checkpoint(stock_run):
    """The last checkpoint of ``stock_run``."""
    return stock_run / "checkpoint_last.pt"


@pytest.fixture(scope="session")
def stock_lm_data(stock_text):
    """The source side alone, for language models."""
    succeeded(
        fairseq(
            "preprocess",
            *("--only-source", "--trainpref", "train.src", "--validpref", "valid.src", "--testpref", "test.src"),
            *("--destdir", "lm-data", "--workers", "1"),
            cwd=stock_text,
        )
    )
    return stock_text / "lm-data"


@pytest.fixture(scope="session")
def stock_lm_run(stock_lm_data, tmp_path_factory):
    """A directory with the checkpoints of a stock language model trained on single sentences."""
    directory = tmp_path_factory.mktemp("language-model")
    succeeded(fairseq("train", stock_lm_data, *LANGUAGE_MODEL, "--sample-break-mode", "eos", "--save-dir", directory))
    return directory


# Small texts and models of ours


@pytest.fixture(scope="session")
def reversal_data(tmp_path_factory):
    """Binarised sentences w1 w2 .. -> reversed, of 3 to 9 words out of 12."""
    folder = tmp_path_factory.mktemp("corpus")
    random.seed(1)
    for split, count in (("train", 300), ("valid", 20), ("test", 20)):
        sentences = [[f"w{random.randrange(12)}" for _ in range(random.randint(3, 9))] for _ in range(count)]
        (folder / f"{split}.src").write_text("".join(" ".join(s) + "\n" for s in sentences))
        (folder / f"{split}.tgt").write_text("".join(" ".join(reversed(s)) + "\n" for s in sentences))
    splits = [word for split in ("train", "valid", "test") for word in (f"--{split}pref", folder / split)]
    binary = ("--joined-dictionary", "--destdir", folder / "bin")
    output(BIN / "fairseq-preprocess", "-s", "src", "-t", "tgt", *splits, *binary)
    return folder / "bin"


@pytest.fixture(scope="session")
def lm_data(tmp_path_factory):
    """A binarised text of 192 tokens."""
    from tests.support.language_models import write_text

    return write_text(tmp_path_factory.mktemp("data"), tokens=192)


@pytest.fixture(scope="session")
def lm_checkpoint(lm_data, tmp_path_factory):
    """Return a function: encoding, flags, seed -> the path of a checkpoint, written once."""
    from tests.support.language_models import write_checkpoint

    folder, written = tmp_path_factory.mktemp("checkpoints"), {}

    def path_of(encoding, *flags, seed=1, **options):
        key = (encoding, flags, seed, *options.items())
        if key not in written:
            path = folder / f"{encoding}-{len(written)}" / "checkpoint_best.pt"
            written[key] = write_checkpoint(path, lm_data, encoding, *flags, seed=seed, **options)
        return written[key]

    return path_of


# Recipes


@pytest.fixture(scope="session")
def wmt14_script():
    """A function that runs a script: ``wmt14_script("train.sh", "none", "en-de", "base", SCALE="smoke")``."""
    return lambda script, *words, **variables: run_script(WMT14 / script, *words, **variables)


@pytest.fixture(scope="session")
def lm_script():
    """A function that runs a script: ``lm_script("train.sh", "xpos", "tiny", SCALE="smoke")``."""
    return lambda script, *words, **variables: run_script(LM / script, *words, **variables)


@pytest.fixture(scope="session")
def grammar_corpus():
    """The corpus that the quickstart trains on: {split: [(English, German), ...]}."""
    from examples.common.grammar import corpus

    return corpus.corpus(1)


@pytest.fixture(scope="session")
def wmt14_smoke(wmt14_script, tmp_path_factory):
    """($WORK with the data of SCALE=smoke, the result of a preparation that was killed, that of its continuation)."""
    folder = tmp_path_factory.mktemp("smoke")
    for name, script in {"fairseq-preprocess": "kill -9 $PPID", "python": f'exec {sys.executable} "$@"'}.items():
        (folder / "bin" / name).parent.mkdir(exist_ok=True)
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / "bin" / name).chmod(0o755)
    work = folder / "work"
    # The scripts look into VENV/bin first.
    killed = wmt14_script("prepare.sh", "en-de", SCALE="smoke", WORK=work, VENV=folder)
    assert not (work / "smoke" / "en-de" / "binary").exists()
    return work, killed, wmt14_script("prepare.sh", "en-de", SCALE="smoke", WORK=work)


@pytest.fixture(scope="session")
def lm_smoke(lm_script, tmp_path_factory):
    """$WORK with the standard library's data at SCALE=smoke."""
    work = tmp_path_factory.mktemp("smoke") / "work"
    done = lm_script("prepare.sh", "stdlib", SCALE="smoke", WORK=work)
    assert done.returncode == 0, done.stdout + done.stderr
    return work


# Translations and their scores


@pytest.fixture(scope="session")
def oracle():
    """Return a function: relative name of a published .gz file -> its lines, cut at line feeds only."""
    if not ORACLES.is_dir():
        pytest.skip("needs ../shared/oracles: published translations and their scores")

    def lines(name):
        return gzip.decompress((ORACLES / name).read_bytes()).decode("utf-8").rstrip("\n").split("\n")

    return lines


@pytest.fixture(scope="session")
def published(oracle):
    """Return a function: folder of oracles -> {system: {column: text}} from its published_scores.tsv."""

    def scores(folder):
        header, *rows = (ORACLES / folder / "published_scores.tsv").read_text(encoding="utf-8").rstrip("\n").split("\n")
        return {row.split("\t")[0]: dict(zip(header.split("\t"), row.split("\t"))) for row in rows}

    return scores


@pytest.fixture
def write(tmp_path):
    """Return a function: writes lines to a file of tmp_path, returns its name."""

    def write_lines(name, lines):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return str(path)

    return write_lines


@pytest.fixture
def reference(write):
    return write("ref.de", REFERENCES)
