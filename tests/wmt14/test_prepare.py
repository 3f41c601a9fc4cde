"""prepare.sh from archives to binary data, twice, interrupted, and with files that are not what they should be."""

import json

import pytest

from tests.support import archives

SIZES = {"valid": 7, "test": 9}


def binary_lines(binary, split, language):
    """The sentences of binary data as subwords."""
    from fairseq.data import Dictionary
    from fairseq.data.indexed_dataset import make_dataset

    words = Dictionary.load(str(binary / f"dict.{language}.txt"))
    return [words.string(line) for line in make_dataset(str(binary / f"{split}.en-de.{language}"), impl="mmap")]


def test_wmt14_from_a_mirror_to_binary_data(wmt14_script, tmp_path):
    training = archives.training_archives(tmp_path / "mirror", "en-de")
    sets = archives.held_out_text(tmp_path / "work" / "paper" / "archives", "en-de", SIZES)
    home = tmp_path / "work" / "paper"
    arguments = ("prepare.sh", "en-de", "--mirror", (tmp_path / "mirror").as_uri())

    result = wmt14_script(*arguments, SCALE="paper", WORK=tmp_path / "work")
    assert result.returncode == 0, result.stderr
    assert (home / "en-de" / "raw" / "train.de").read_bytes() == archives.text(training, 1)
    assert len(json.loads((home / "checksums.json").read_text())["files"]) == 3
    binary = home / "en-de" / "binary"
    for split, sentences in {"train": training, "valid": sets["valid"], "test": sets["test"]}.items():
        for side, language in enumerate(("en", "de")):
            lines = [line.replace("@@ ", "") for line in binary_lines(binary, split, language)]
            assert lines == [pair[side] for pair in sentences]
    assert (binary / "dict.en.txt").read_bytes() == (binary / "dict.de.txt").read_bytes()
    assert json.loads((home / "en-de" / "prepared" / "clean.train.json").read_text())["pairs"]["kept"] == len(training)

    # Again: nothing is done twice.
    made = {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()}
    result = wmt14_script(*arguments, SCALE="paper", WORK=tmp_path / "work")
    assert result.returncode == 0 and result.stdout.count("already done") == result.stdout.count("\n") == 16
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()} == made

    # As if it had been cut off while cleaning: that step and the next are done, no other.
    (home / "en-de" / "prepared" / "steps" / "cleaning").unlink()
    (home / "en-de" / "prepared" / "clean.train.en").write_text("half of")
    result = wmt14_script(*arguments, SCALE="paper", WORK=tmp_path / "work")
    assert result.returncode == 0 and result.stdout.count("already done") == 14
    assert [line.replace("@@ ", "") for line in binary_lines(binary, "train", "en")] == [pair[0] for pair in training]

    # A changed archive: one line, and the data stays.
    with open(home / "archives" / "training-parallel-nc-v9.tgz", "ab") as archive:
        archive.write(b"x")
    result = wmt14_script(*arguments, SCALE="paper", WORK=tmp_path / "work")
    assert result.returncode == 2 and result.stderr.count("\n") == 1 and "truncated or changed" in result.stderr
    assert binary.is_dir()


def test_a_killed_preparation_continues(wmt14_smoke):
    """A step that a signal ended is done again; the finished ones are not."""
    work, killed, continued = wmt14_smoke
    assert killed.returncode == -9
    assert continued.returncode == 0, continued.stderr
    assert continued.stdout.count("already done") == 15
    assert len(binary_lines(work / "smoke" / "en-de" / "binary", "test", "de")) == 30


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (("en-it",), {}, "language pair en-it is not one of en-de, en-fr"),
        ((), {}, "give en-de or en-fr"),
        (("en-de",), {"SCALE": "huge"}, "SCALE=huge is not one of paper, small, smoke"),
        (("en-fr",), {"SCALE": "smoke"}, "SCALE=smoke has only en-de"),
        (("en-de", "--bpe", "unigram"), {}, "--bpe unigram is not one of subword_nmt, sentencepiece"),
        (("en-de", "--data", "/nowhere"), {}, "--data /nowhere is not a folder"),
        (("en-de", "--data"), {}, "--data needs a value"),
        (("en-de", "--dta", "x"), {}, "option --dta is not one of"),
        (("en-de", "--corpus", "wmt15"), {"SCALE": "small"}, "CORPUS=wmt15 is not a corpus of SCALE=small"),
        (("en-de", "--corpus", "newstest"), {}, "CORPUS=newstest is not a corpus of SCALE=paper"),
        (("en-de", "--corpus", "newstest"), {"SCALE": "small"}, "give --data DIR"),
        (("en-de", "--mirror", "file:///x"), {"SCALE": "small"}, "--mirror is for SCALE=paper"),
        (("en-de", "--mirror", "file:///x", "--data", "."), {}, "give one of them"),
        (("en-de", "--data", "."), {"SCALE": "smoke"}, "--data . does not apply to the grammar"),
        (("en-de", "--data", "."), {}, "--data . lacks training-parallel-europarl-v7.tgz"),
        (("en-de", "--data", "."), {"SCALE": "small"}, "--data . lacks train.en.gz"),
        (("en-de",), {"WORKERS": "two"}, "WORKERS two is not a whole number above 0"),
        (
            ("en-de",),
            {"VENV": "/nowhere", "PATH": "/usr/bin:/bin"},
            "not found in /nowhere/bin or PATH; run scripts/setup.sh",
        ),
    ],
)
def test_bad_input_is_one_line(arguments, variables, message, wmt14_script, tmp_path):
    result = wmt14_script("prepare.sh", *arguments, **{"SCALE": "paper", "WORK": tmp_path / "work", **variables})
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1 and message in result.stderr, result.stderr
    assert not list(tmp_path.rglob("binary")) and not list(tmp_path.rglob("raw"))
