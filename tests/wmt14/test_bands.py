"""The table by bands of lengths: which sentences are in which band, means over seeds, marks, and positions."""

import json

import pytest

from examples.wmt14 import bands
from fairseq_posenc.cli import main as posenc
from fairseq_posenc.errors import InputError
from fairseq_posenc.tables import read_tsv


def test_bands_of_lengths():
    lengths = [3, 9, 5, 6, 7, 12, 13, 30]  # the first two are single sentences
    found = bands.bands_of(lengths, 2, {"single": 6, "joined": 12})
    assert [(band["name"], band["from"], band["to"], list(indices)) for band, indices in found] == [
        ("single", 0, None, [0, 1]),
        ("joined", 1, 6, [2, 3]),
        ("beyond single", 7, 12, [4, 5]),
        ("beyond joined", 13, None, [6, 7]),
    ]
    assert [band["sentences"] for band, _ in found] == [2, 2, 2, 2]


def test_empty_bands_are_left_out():
    found = bands.bands_of([3, 9, 5, 30], 2, {"single": 6})
    assert [band["name"] for band, _ in found] == ["single", "joined", "beyond single"]
    # Where the longest joined sentence is no longer than a single one, nothing is between them.
    found = bands.bands_of([3, 9, 5, 30], 2, {"single": 10, "joined": 8})
    assert [(band["name"], list(indices)) for band, indices in found] == [
        ("single", [0, 1]),
        ("joined", [2]),
        ("beyond joined", [3]),
    ]


REFERENCES = [f"der {number} alte Hund sieht den {number + 1} roten Ball im Garten ." for number in range(40)]


@pytest.fixture
def home(tmp_path):
    """Two systems of two seeds: half of the test sentences are single ones, half are longer than those in training."""
    pair = tmp_path / "smoke" / "en-de"
    texts = {
        "raw/test.en": ["a b"] * 20,
        "joined/bpe.test.en": ["a b"] * 20 + ["a b c d e f g"] * 20,
        "joined/raw/test.de": REFERENCES,
        "prepared/clean.train.en": ["a", "a b c", "a b"],
        "joined-training/bpe.train.en": ["a b c d e", "a"],
    }
    short = [text.rpartition(" den ")[0] for text in REFERENCES]
    for seed in (1, 2):
        systems = {"sinusoidal": REFERENCES[:20] + short[20:], "rope-random": [f"x {text}" for text in REFERENCES]}
        if seed == 2:
            systems["rope-random"][20:] = short[20:]
        for name, lines in systems.items():
            folder = f"base/{name}/seed{seed}"
            texts[f"{folder}/generate-joined.log"] = lines
            options = " --positions random:256" if name == "rope-random" else ""
            texts[f"{folder}/command"] = [f"fairseq-train {pair}/binary{options} --seed {seed}"]
            epoch = {
                "epoch": 1,
                "train_loss": "5.0",
                "train_num_updates": "9",
                "train_wps": "1",
                "train_train_wall": "6",
            }
            valid = {"epoch": 1, "valid_loss": "5", "valid_num_updates": "9"}
            log = ["num. shared model params: 10 (num. trained: 10)", json.dumps(epoch), json.dumps(valid)]
            texts[f"{folder}/train.log"] = log
    for name, lines in texts.items():
        (pair / name).parent.mkdir(parents=True, exist_ok=True)
        (pair / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    rows = "name\tencoding\toptions\ttext\n"
    rows += "rope-random\trope\t--positions random:@reach\tjoined\nsinusoidal\tsinusoidal\t-\tsingle\n"
    (tmp_path / "rows.tsv").write_text(rows)
    return pair.parent


def command(home, *seeds):
    folder = home.parent
    return [
        *(str(home), str(folder / "bands"), "--rows", str(folder / "rows.tsv"), "--pair", "en-de", "--size", "base"),
        *("--seeds", *seeds, "--baseline", "sinusoidal", "--command", "the command"),
        *("--training", "single", "prepared/clean.train", "--training", "joined", "joined-training/bpe.train"),
    ]


def test_a_table_from_files(home, tmp_path, capsys):
    bands.main(command(home, "1", "2"))
    record = json.loads((tmp_path / "bands.json").read_text(encoding="utf-8"))
    assert record["longest_trained"] == {"single": 3, "joined": 5} and record["bootstrap"]["baseline"] == "sinusoidal"
    assert [(band["name"], band["sentences"]) for band in record["bands"]] == [("single", 20), ("beyond joined", 20)]
    rope, sinusoidal = record["systems"]  # in the order of the rows
    assert (rope["positions"], rope["text"]) == ("random:256", "joined")
    assert (sinusoidal["positions"], sinusoidal["text"]) == ("index", "single")
    assert sinusoidal["bands"]["single"]["bleu"] == pytest.approx(100)
    assert sinusoidal["bands"]["single"]["bleu_mark"] == "" and "p" not in sinusoidal["bands"]["single"]["runs"][0]
    # Worse on single sentences with both seeds; on long ones better with one of them, and equal with the other.
    assert rope["bands"]["single"]["bleu_mark"] == "--"
    first, second = rope["bands"]["beyond joined"]["runs"]
    assert (first["mark"], second["mark"], second["p"]) == ("++", "", 1.0)
    assert rope["bands"]["beyond joined"]["bleu_mark"] == ""
    assert rope["bands"]["beyond joined"]["bleu_deviation"] > 1 and first["seed"] == 1
    # 12 words, and 5 of them.
    assert sinusoidal["bands"]["beyond joined"]["length_ratio"] == pytest.approx(5 / 12)
    assert rope["trainings"][0]["command"] == "fairseq-train $WORK/smoke/en-de/binary --positions random:256 --seed 1"
    printed = capsys.readouterr().out
    assert "one sentence" in printed and "joined, over 5" in printed and "joined, 1-3" not in printed
    assert "better, -- and - worse than sinusoidal" in printed and "for every seed" in printed


def test_the_tsv_has_a_line_per_system_and_band_and_is_drawn(home, tmp_path, monkeypatch, capsys):
    bands.main(command(home, "1"))
    lines = read_tsv(tmp_path / "bands.tsv")
    assert [(line["name"], line["band"], line["positions"], line["text"]) for line in lines] == [
        ("rope-random", "single", "random:256", "joined"),
        ("rope-random", "beyond joined", "random:256", "joined"),
        ("sinusoidal", "single", "index", "single"),
        ("sinusoidal", "beyond joined", "index", "single"),
    ]
    assert lines[1]["bleu_mark"] == "++" and lines[1]["bleu_deviation"] == "" and lines[3]["bleu_mark"] == ""
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    for ending in ("json", "tsv"):
        assert posenc(["plot", f"bands.{ending}", "--output", "map"]) == 0
        assert capsys.readouterr().out.split() == ["map.tsv", "map.png", "map.pdf"]


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("joined-training/bpe.train.en", "run joined.sh first"),
        ("base/sinusoidal/seed1/generate-joined.log", "cannot read .*generate-joined.log"),
    ],
)
def test_missing_files_are_one_line(missing, message, home, tmp_path):
    (home / "en-de" / missing).unlink()
    with pytest.raises(InputError, match=message):
        bands.main(command(home, "1"))
    assert not (tmp_path / "bands.json").exists()
