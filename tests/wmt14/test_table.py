"""The table's figures come from the logs and scores, and its marks from every seed."""

import json

import pytest

from examples.common import training_log
from examples.wmt14 import table, table_text
from fairseq_posenc.errors import InputError
from tests.support.recipes import WMT14

EPOCH = {"train_loss": "5.0", "train_num_updates": "0", "train_wps": "0", "train_train_wall": "90"}


def log(epochs, losses, parameters="1,451,008"):
    """A training's log as --log-file has it: lines twice, and one cut off in the middle."""
    lines = [f"num. shared model params: {parameters} (num. trained: {parameters})"]
    for epoch, (updates, words) in enumerate(epochs, 1):
        record = {"epoch": epoch, **EPOCH, "train_num_updates": str(updates), "train_wps": str(words)}
        lines += 2 * [json.dumps(record)]
    for updates, loss in losses:
        lines += 2 * [json.dumps({"epoch": 1, "valid_loss": str(loss), "valid_num_updates": str(updates)})]
    return "\n".join([*lines, '{"epoch": 9, "train_loss": "3.1", "train_w'])


def test_facts_of_a_training(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(log([(100, 900.4), (200, 1100), (300, 5000)], [(150, 4.5), (300, 4.25), (100, 6)]))
    assert training_log.training_summary(path) == {
        "parameters": 1_451_008,
        "epochs": 3,
        "updates": 300,
        "words_per_second": 1100,
        "training_minutes": 4.5,
        "best_valid_loss": 4.25,
        "best_update": 300,
        "valid_losses": [[100, 6.0], [150, 4.5], [300, 4.25]],
    }


def test_a_training_that_was_continued_counts_an_epoch_once(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(log([(100, 1000)], [(100, 5)]) + "\n" + log([(100, 2000), (200, 2000)], [(200, 4)]))
    facts = training_log.training_summary(path)
    assert (facts["epochs"], facts["words_per_second"], facts["training_minutes"]) == (2, 2000, 3.0)


@pytest.mark.parametrize("text", [None, "", "num. shared model params: 10 (num. trained: 10)\n"])
def test_a_log_without_an_epoch_is_one_line(text, tmp_path):
    if text is not None:
        (tmp_path / "train.log").write_text(text)
    with pytest.raises(InputError, match="train the system first"):
        training_log.training_summary(tmp_path / "train.log")


@pytest.mark.parametrize(
    ("signs", "shared"),
    [
        (["++"], "++"),
        (["++", "+"], "+"),
        (["--", "--"], "--"),
        (["++", ""], ""),
        (["+", "-"], ""),
        (["++", "--", "++"], ""),
        ([], ""),
    ],
)
def test_the_mark_is_what_every_seed_shows(signs, shared):
    assert table.weakest(signs) == shared


def training(seed, bleu, p, **more):
    facts = {"parameters": 10, "words_per_second": 100, "training_minutes": 2.0, "chrf++": bleu + 20}
    return {**facts, "seed": seed, "bleu": bleu, "tokenized_bleu": bleu + 1, "p_values": p, **more}


def test_means_over_seeds_and_marks_by_the_weakest():
    baseline = [training(1, 30.0, None), training(2, 31.0, None)]
    better = [
        training(1, 32.0, {"bleu": 0.01, "chrf++": 0.001}),
        training(2, 33.0, {"bleu": 0.09, "chrf++": 0.5}),
    ]
    row = table.summary("shaw", better, baseline)
    assert (row["bleu"], row["bleu_mark"], row["chrf++_mark"], row["seeds"]) == (32.5, "+", "", 2)
    assert row["bleu_deviation"] == pytest.approx(0.7071, abs=1e-4)
    assert table.summary("sinusoidal", baseline, baseline)["bleu_mark"] == ""
    one = table.summary("shaw", better[:1], baseline[:1])
    assert one["bleu_deviation"] is None and one["bleu_mark"] == "++"


@pytest.fixture
def home(tmp_path):
    """Two systems of two seeds as the scripts leave them, a third of the test set not in sacreBLEU's."""
    source, target = tmp_path / "paper", "de"
    (source / "en-de" / "raw").mkdir(parents=True)
    references = ["Der Hund schläft heute nicht.", "Ein T-Shirt & mehr liegt hier.", "Die Katze sieht den Mann."]
    (source / "en-de" / "raw" / f"test.{target}").write_text("".join(f"{line}\n" for line in references))
    (source / "en-de" / "raw" / "test-sacrebleu.lines").write_text("3\n1\n")
    tokens = ["Der Hund schläft heute nicht .", "Ein T @-@ Shirt &amp; mehr liegt hier .", "Die Katze sieht den Mann ."]
    for seed in (1, 2):
        systems = []
        for name in ("none", "sinusoidal"):
            folder = source / "en-de" / "base" / name / f"seed{seed}"
            folder.mkdir(parents=True)
            (folder / "train.log").write_text(log([(100, 1000 * seed)], [(100, 5)]))
            (folder / "command").write_text(f"fairseq-train {source}/en-de/binary --seed {seed}\n")
            lines = []
            for number in (2, 0, 1):  # as fairseq-generate orders them
                text, words = references[number], tokens[number]
                if name == "none" and number == 1:
                    text = words = "Ganz falsch"
                lines += [
                    f"S-{number}\tx",
                    f"T-{number}\t{text}",
                    f"H-{number}\t-0.1\t{words}",
                    f"D-{number}\t-0.1\t{text}",
                ]
            (folder / "generate.log").write_text("\n".join(lines) + "\n")
            systems.append({"name": name, "bleu": 100.0 if name == "sinusoidal" else 50.0 + seed, "chrf++": 60.0})
        (tmp_path / f"table1-scores-en-de-seed{seed}.json").write_text(
            json.dumps(
                {
                    "systems": systems,
                    "signatures": {"bleu": "B", "chrf++": "C"},
                    "significance": {
                        "baseline": "sinusoidal",
                        "p_values": {"none": {"bleu": 0.01 * seed, "chrf++": 0.2}},
                    },
                }
            )
        )
    return source


def test_a_table_from_files(home, tmp_path, capsys):
    rows, paper = WMT14 / "rows" / "table1.tsv", WMT14 / "paper" / "table1.tsv"
    options = ["--pairs", "en-de", "--size", "base", "--seeds", "1", "2", "--only", "none", "sinusoidal"]
    table.main(
        [
            str(home),
            str(tmp_path / "table1"),
            "--rows",
            str(rows),
            *options,
            "--paper",
            str(paper),
            "--command",
            "the command",
        ]
    )
    record = json.loads((tmp_path / "table1.json").read_text(encoding="utf-8"))
    none, sinusoidal = record["pairs"]["en-de"]["systems"]
    assert (none["name"], none["bleu"], none["bleu_mark"], none["chrf++_mark"]) == ("none", 51.5, "--", "")
    assert sinusoidal["tokenized_bleu"] == pytest.approx(100) and none["tokenized_bleu"] < 90
    # The sentence that "none" has wrong is not among sacreBLEU's.
    assert none["official_bleu"] == pytest.approx(100) and record["pairs"]["en-de"]["official_sentences"] == 2
    assert none["words_per_second"] == 1500 and none["parameters"] == 1_451_008
    assert none["paper"]["bleu"] == "13.49" and none["paper"]["parameters_millions"] == "63.08"
    assert none["trainings"][1]["command"] == "fairseq-train $WORK/paper/en-de/binary --seed 2"
    assert record["command"] == "the command" and record["kind"] == "table" and record["versions"]["fairseq"]
    printed = capsys.readouterr().out
    for text in (printed, (tmp_path / "table1.md").read_text(encoding="utf-8")):
        assert "51.50 ± 0.71--" in text and "paper: BLEU" in text and "13.49" in text
        assert "p < 0.05 and p < 0.1 for every seed" in text and "bleu: B" in text
    lines = [line.split("\t") for line in (tmp_path / "table1.tsv").read_text(encoding="utf-8").split("\n")[:-1]]
    assert len({len(line) for line in lines}) == 1
    assert dict(zip(lines[0], lines[1])) == {
        **dict(zip(lines[0], lines[1])),
        "pair": "en-de",
        "name": "none",
        "bleu": "51.5",
        "bleu_mark": "--",
        "paper_bleu": "13.49",
        "parameters": "1451008",
    }


def test_the_papers_marks_stand_beside_its_figures():
    paper = {
        ("x", row["pair"]): row
        for row in table.read_table(WMT14 / "paper" / "table2.tsv")
        if row["name"] == "posnet-embed"
    }
    system = {"name": "posnet-embed", "bleu": 1.0, "paper": paper["x", "en-fr"]}
    (header, row) = table_text.cells({"systems": [system]})
    assert dict(zip(header, row)) == {
        "system": "posnet-embed",
        "BLEU": "1.00",
        "paper: BLEU": "42.66+",
        "paper: chrF++": "63.70",
    }


def test_missing_scores_are_one_line(home, tmp_path):
    (tmp_path / "table1-scores-en-de-seed2.json").unlink()
    rows = WMT14 / "rows" / "table1.tsv"
    with pytest.raises(InputError, match="run score.sh first"):
        table.main(
            [
                str(home),
                str(tmp_path / "table1"),
                "--rows",
                str(rows),
                "--pairs",
                "en-de",
                "--size",
                "base",
                "--seeds",
                "1",
                "2",
            ]
        )
    assert not (tmp_path / "table1.json").exists()
