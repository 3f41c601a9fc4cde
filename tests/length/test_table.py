"""The table of a result, from answers of made-up systems."""

import json

import pytest

from examples.length import data, table, table_text
from examples.length.settings import DECODER_ONLY, ENCODER_DECODER
from fairseq_posenc.errors import InputError
from fairseq_posenc.tables import read_tsv

TRAIN_LOG = """num. shared model params: 1,234 (num. trained: 1,234)
{"epoch": 1, "train_loss": "1", "train_num_updates": "4", "train_wps": "10", "train_train_wall": "6"}
{"epoch": 1, "valid_loss": "0.5", "valid_num_updates": "4"}
"""
ROWS = "name\tencoding\toptions\nrope\trope\t-\nnone\tnone\t-\n"
PAPER = "owner\ttask\tname\texact\nSomebody et al.\tcopy\trope\t0.125\nSomebody et al.\tscan\trope\t0.5\n"


def write_system(home, task, form, name, seed, answers):
    """A trained system with these answers, whether it may choose their end or not."""
    folder = home / task / form / name / f"seed{seed}"
    folder.mkdir(parents=True)
    (folder / "train.log").write_text(TRAIN_LOG)
    (folder / "command").write_text(f"fairseq-train {home}/{task} --seed {seed}\n")
    for kind, more in (("free", []), ("oracle", ["x"] * 99)):
        lines = [f"H-{number}\t-0.5\t{' '.join([*answer, *more])}\n" for number, answer in enumerate(answers)]
        (folder / f"{kind}.log").write_text("".join(lines))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Systems that copy as much as fits into 12 tokens (rope, with seed 2 into 10), and that answer nothing (none)."""
    home = tmp_path_factory.mktemp("work") / "smoke"
    arguments = ["--trained", "8", "--longest", "24", "--train", "40", "--valid", "8", "--test", "2"]
    data.main(["copy", str(home / "copy" / "raw"), *arguments])
    inputs = [line.split() for line in (home / "copy" / "raw" / "test.input").read_text().splitlines()]
    prompts = [[*words, "="] for words in inputs]
    for form in (ENCODER_DECODER, DECODER_ONLY):
        fronts = prompts if form == DECODER_ONLY else [[] for _ in inputs]
        for seed, limit in ((1, 12), (2, 10)):
            told = [[*front, *words[:limit]] for front, words in zip(fronts, inputs)]
            write_system(home, "copy", form, "rope", seed, told)
            write_system(home, "copy", form, "none", seed, fronts)
    (home / "rows.tsv").write_text(ROWS)
    (home / "more.tsv").write_text(ROWS + "alibi\talibi\t-\n")
    (home / "paper.tsv").write_text(PAPER)
    return home


def make(home, form, *more):
    arguments = ["--form", form, "--rows", home / "rows.tsv", "--tasks", "copy", *more]
    table.main([str(argument) for argument in (home, home / form, *arguments)])
    return json.loads((home / f"{form}.json").read_text())


@pytest.mark.parametrize("form", [ENCODER_DECODER, DECODER_ONLY])
def test_numbers(home, form, capsys):
    record = make(home, form, "--seeds", 1, 2, "--command", "reproduce.sh")
    found = {(row["name"], row["band"]): row for row in record["summary"]}
    # Lengths 9 to 16, two examples of each: those up to 12 are right with one seed, up to 10 with the other.
    unseen = found["rope", "unseen"]
    assert (unseen["from"], unseen["to"], unseen["examples"], unseen["seeds"]) == (9, 16, 16, 2)
    assert unseen["exact"] == (50 + 25) / 2 and unseen["exact_deviation"] == pytest.approx(17.6777)
    shares = [min(limit, length) / length for limit in (12, 10) for length in range(9, 17)]
    assert unseen["token"] == unseen["token_oracle"] == pytest.approx(100 * sum(shares) / 16, abs=1e-3)
    assert found["rope", "seen"]["exact"] == 100 and found["rope", "+100%"]["exact"] == 0
    assert all(
        row["exact"] == row["token"] == row["exact_oracle"] == 0 for key, row in found.items() if key[0] == "none"
    )
    (curve, _) = record["curves"]
    by_length = dict(zip(curve["length"], curve["exact"]))
    assert [by_length[length] for length in (8, 10, 11, 12, 13)] == [100, 100, 50, 50, 0]
    assert [run["command"] for run in record["trainings"][:2]] == ["fairseq-train $WORK/smoke/copy --seed 1", None]
    assert record["command"] == "reproduce.sh" and str(home) not in json.dumps(record["trainings"])
    rows = read_tsv(home / f"{form}.tsv")
    assert [row["exact"] for row in rows if (row["name"], row["band"]) == ("rope", "unseen")] == ["37.5"]
    curves = read_tsv(home / f"{form}-lengths.tsv")
    assert len(curves) == 2 * len(curve["length"]) and {row["trained"] for row in curves} == {"8"}
    assert "38 ± 18" in capsys.readouterr().out


def test_numbers_of_others_stand_below_ours_with_their_name(home):
    record = make(home, ENCODER_DECODER, "--paper", home / "paper.tsv")
    assert [(row["task"], row["exact"]) for row in record["paper"]] == [("copy", 12.5)]
    assert "| rope (Somebody et al.) | 12 |\n" in table_text.as_markdown(record)
    assert "the numbers of Somebody et al." in table_text.as_plain(record)
    theirs = [row for row in read_tsv(home / f"{ENCODER_DECODER}.tsv") if row["owner"] == "Somebody et al."]
    assert [(row["band"], row["exact"]) for row in theirs] == [("unseen", "12.5")]


def test_systems_that_have_not_been_run_are_missing(home, capsys):
    record = make(home, ENCODER_DECODER, "--rows", home / "more.tsv", "--seeds", 1)
    assert "alibi on copy is left out: it has not been run with all seeds" in capsys.readouterr().out
    assert {row["name"] for row in record["summary"]} == {"rope", "none"}
    with pytest.raises(InputError, match="no system has been run on copy; run reproduce.sh first"):
        make(home, ENCODER_DECODER, "--seeds", 3)


def test_missing_examples_are_one_line(home):
    with pytest.raises(InputError, match=r"cannot read .*counts\.json: .*; prepare the examples first"):
        table.main(
            [str(home), str(home / "x"), "--form", ENCODER_DECODER, "--rows", str(home / "rows.tsv")]
            + ["--tasks", "sort"]
        )
