"""The table's numbers are those of the results, in the paper's rows, with the paper's beside and never mixed in."""

import json

import pytest

from examples.lm import length_table, length_table_text
from fairseq_posenc.errors import InputError
from tests.support.recipes import LM

SUMMARY = [
    ("sandwich", "full", 128, 5.0, 0.25, ""),
    ("sandwich", "full", 256, 4.5, 0.25, ""),
    ("alibi", "full", 128, 5.5, 0.125, "†"),
    ("alibi", "full", 256, None, None, ""),
    ("alibi", "window:64", 256, 6.0, 0.5, "*"),
]
PAPER = "result\tname\tpattern\tlength\tperplexity\tdeviation\tmark\n" + "".join(
    "\t".join(line) + "\n"
    for line in (
        ("ArXiv", "sandwich", "full", "512", "5.27", "0.33", ""),
        ("ArXiv", "alibi", "full", "512", "5.25", "", "†"),
        ("ArXiv", "alibi", "window:256", "1024", "9.99", "", ""),
        ("GitHub", "sandwich", "full", "512", "2.88", "0.12", ""),
    )
)
TEXT = {"data": "binary", "subset": "test", "tokens": 5000, "trimmed": 0, "sha256": "x"}


@pytest.fixture
def home(tmp_path):
    """A corpus with two trained systems and the results on one text."""
    home = tmp_path / "small" / "stdlib"
    keys = ("name", "pattern", "length", "perplexity", "deviation", "mark")
    rows = [{**dict(zip(keys, row)), "seeds": 2, "p": 0.5} for row in SUMMARY]
    cells = [{**dict(zip(keys[:4], row)), "pair": seed, "tokens": 9} for row in SUMMARY for seed in (1, 2)]
    write(
        home / "results" / "cells.json",
        {
            "kind": "extrapolation",
            "protocol": {"name": "last-token", "segments": 9},
            "text": TEXT,
            "precision": "fp32",
            "baseline": "sandwich",
            "summary": rows,
            "cells": cells,
        },
    )
    for system in ("sandwich", "alibi"):
        for seed in (1, 2):
            folder = home / "sandwich-tiny" / system / f"seed{seed}"
            folder.mkdir(parents=True)
            (folder / "command").write_text(f"fairseq-train {home}/binary --seed {seed}\n")
            train = {"epoch": 1, "train_loss": "8", "train_num_updates": "20", "train_wps": "900"}
            (folder / "train.log").write_text(
                "num. shared model params: 49,216 (num. trained: 49,216)\n"
                + json.dumps({"epoch": 1, "valid_loss": "7.5", "valid_num_updates": "20"})
                + "\n"
                + json.dumps({**train, "train_train_wall": "60"})
                + "\n"
            )
    (tmp_path / "paper.tsv").write_text(PAPER)
    return home


def write(path, record):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))


def arguments(home, *more, rows=(("Sandwich", "sandwich", "full", "full"), ("ALiBi", "alibi", "full", "full"))):
    words = [home, home / "results" / "table3", "--settings", "sandwich-tiny", "--training-length", "128"]
    words += ["--paper-training-length", "512", "--seeds", "1", "2", "--command", "the command", *more]
    words += [word for row in rows for word in ("--row", *row)]
    return [str(word) for word in words]


def test_a_table_from_files(home, capsys):
    cells = ["--cells", "test", "results/cells.json", "--paper", str(home.parents[1] / "paper.tsv")]
    rows = (
        ("Sandwich", "sandwich", "full", "full"),
        ("ALiBi", "alibi", "full,window:64", "full,window:256"),
    )
    length_table.main(arguments(home, *cells, rows=rows))
    record = json.loads((home / "results" / "table3.json").read_text())
    values = {row["row"]: row["values"] for row in record["texts"]["test"]["rows"]}
    assert {name: sorted(lengths) for name, lengths in values.items()} == {
        "Sandwich": ["128", "256"],
        "ALiBi, full": ["128", "256"],
        "ALiBi, window:64": ["256"],
    }
    assert values["ALiBi, window:64"]["256"]["value"] == 6.0
    assert values["ALiBi, window:64"]["256"]["by_seed"] == {"1": 6.0, "2": 6.0}
    assert record["command"] == "the command" and record["scale"] == "small" and record["corpus"] == "stdlib"
    assert record["trainings"]["alibi"][1]["command"] == "fairseq-train $WORK/small/stdlib/binary --seed 2"
    printed = capsys.readouterr().out
    markdown = (home / "results" / "table3.md").read_text()
    for text in (printed, markdown):
        assert "5.00 ± 0.25" in text and "5.50 ± 0.12†" in text and "not finite" in text and "6.00 ± 0.50*" in text
        assert "128 (1x)" in text and "512 (1x)" in text and "sandwich is significantly better (†) or worse (*)" in text
        papers = text.index("the paper's table3: perplexity, ArXiv (1x: its training length, 512 tokens)")
        assert papers > text.index("seeds: 1, 2")
        assert "5.27 ± 0.33" in text and "5.25†" in text and "9.99" in text and "2.88 ± 0.12" in text
    assert "| ALiBi, window:64 | alibi under window:64 | - | 6.00 ± 0.50* |" in markdown
    assert "| sandwich | 49,216 | 20 | 7.500 | 900 | 1.0 |" in markdown
    lines = [line.split("\t") for line in (home / "results" / "table3.tsv").read_text().split("\n")[:-1]]
    assert {len(line) for line in lines} == {13} and {line[0] for line in lines} == {"kind", "length-table"}
    none, paper = (
        ["ours", "test", "ALiBi, full", "alibi", "full", "256"],
        ["paper", "GitHub", "Sandwich", "sandwich", ""],
    )
    assert ["length-table", *none, "perplexity", "", "", "0.5", "", "128"] in lines
    assert ["length-table", *paper, "512", "perplexity", "2.88", "0.12", "", "", "512"] in lines


def test_rows_that_are_evaluated_as_they_were_trained(home):
    """The pattern of the training stands in the result by its name, and in the row as "trained"."""
    found = [{"name": "window40", "pattern": "window:10", "length": 128, "value": 1.0}]
    row = {"system": "window40"}
    assert length_table.of_row(row, found, "trained") == {128: {"value": 1.0}}
    assert length_table.of_row(row, found, "full") == {} == length_table.of_row({"system": "x"}, found, "trained")


def test_means_of_receptive_fields_with_their_bounds(home):
    cells = [
        {"name": "alibi", "pattern": "window:8", "length": 64, "erf": erf, "theoretical": 16, "segments": 4}
        for erf in (10, 13)
    ]
    write(home / "fields.json", {"kind": "receptive-field", "text": TEXT, "precision": "fp32", "cells": cells})
    length_table.main(
        arguments(home, "--cells", "test", "fields.json", rows=[("ALiBi", "alibi", "trained", "trained")])
    )
    markdown = (home / "results" / "table3.md").read_text()
    assert "| row | system | 64 (0.5x) | bound |" in markdown and "| ALiBi | alibi | 12 ± 2 | 16 |" in markdown
    assert "4 segments" in markdown and "the paper's" not in markdown


def test_resolutions_of_all_heads_and_of_single_ones(home):
    cells = [
        {"name": "alibi", "pattern": "full", "length": 128, "resolution": 0.25, "mean_of_heads": 0.125, "texts": 8}
    ]
    write(home / "resolution.json", {"kind": "resolution", "text": TEXT, "precision": "fp32", "cells": cells})
    length_table.main(arguments(home, "--cells", "test", "resolution.json"))
    tables = (home / "results" / "table3.md").read_text().split("mean of the resolutions of single heads")
    assert "| ALiBi | alibi | 0.2500 |" in tables[0] and "| ALiBi | alibi | 0.1250 |" in tables[1]


@pytest.mark.parametrize("path", sorted((LM / "paper").glob("*.tsv")), ids=lambda path: path.stem)
def test_the_papers_numbers_belong_to_rows(path):
    """Every number of a paper is found by a row of its table, once."""
    lines = [line.split("\t") for line in path.read_text().split("\n")[1:-1]]
    results = [line.split("\t") for line in (LM / "results.tsv").read_text().split("\n")[1:-1]]
    (rows_file,) = [result[3] for result in results if result[0] == path.stem]
    rows = [line.split("\t") for line in (LM / "rows" / f"{rows_file}.tsv").read_text().split("\n")[1:-1]]
    expanded = length_table.expanded([(row[0], row[1], row[3], row[3].replace("@", "")) for row in rows])
    found = sum(len(row["values"]) for of_text in length_table.paper_texts(path, expanded).values() for row in of_text)
    assert found == len(lines) > 0
    (lengths,) = [result[5] for result in results if result[0] == path.stem]
    assert {line[3] for line in lines} == set(lengths.split(","))


def test_a_missing_result_is_one_line(home):
    with pytest.raises(InputError, match="run evaluate.sh or analyse.sh first"):
        length_table.main(arguments(home, "--cells", "test", "nothing.json"))
    write(home / "other.json", {"kind": "cost"})
    with pytest.raises(InputError, match="holds 'cost', which is no kind that a table shows"):
        length_table.main(arguments(home, "--cells", "test", "other.json"))
    (home / "sandwich-tiny" / "alibi" / "seed2" / "train.log").unlink()
    with pytest.raises(InputError, match="train the system first"):
        length_table.main(arguments(home, "--cells", "test", "results/cells.json"))
    assert not (home / "results" / "table3.json").exists()


def test_lengths_as_multiples_of_the_training_length():
    assert [length_table_text.of_training(length, 128) for length in (32, 128, 192)] == [
        "32 (0.25x)",
        "128 (1x)",
        "192 (1.5x)",
    ]
