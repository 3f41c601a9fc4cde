"""The whole quickstart in miniature: real tools, a few sentences, two systems."""

import gzip
import hashlib
import io
import json
import re

import pytest
from sacremoses import MosesDetokenizer
from subword_nmt.apply_bpe import BPE

from examples.common import moses
from examples.common.subwords import learn_merges
from examples.common.training import Training
from examples.common.training_log import records
from examples.quickstart import run


@pytest.fixture(scope="module")
def data(tmp_path_factory, grammar_corpus):
    """A little text in the files of Multi30k."""
    folder = tmp_path_factory.mktemp("data")
    sizes = {"train": 300, "val": 20, "test_2016_flickr": 12}
    for (name, size), pairs in zip(sizes.items(), grammar_corpus.values()):
        for side, language in enumerate(("en", "de")):
            text = "".join(pair[side] + "\n" for pair in pairs[:size])
            (folder / f"{name}.{language}.gz").write_bytes(gzip.compress(text.encode()))
    return folder


def test_from_text_to_table_and_again(data, tmp_path, capsys):
    command = ["--corpus", "multi30k", "--data", str(data), "--encodings", "none,sinusoidal", "--jobs", "2"]
    command += ["--max-epoch", "2", "--output", str(tmp_path)]
    assert run.main(command) == 0
    table = capsys.readouterr().out
    record = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [system["name"] for system in record["systems"]] == ["none", "sinusoidal"]
    assert record["baseline"] == "sinusoidal"
    for system in record["systems"]:
        assert f"{system['name']} " in table and f"{system['parameters']:,}" in table
        assert system["parameters"] > 500_000 and system["words_per_second"] > 0
        assert system["epochs"] == 2 and len(system["valid_losses"]) == 2
        assert system["valid_losses"][1] < system["valid_losses"][0]
        assert 0 <= system["bleu"] < 50 and 0 <= system["chrf++"] < 60
        assert not any(str(tmp_path) in word for word in system["train_command"] + system["generate_command"])
    none, sinusoidal = record["systems"]
    assert 0 <= none["p_bleu"] <= 1 and sinusoidal["p_bleu"] is None
    assert none["parameters"] == sinusoidal["parameters"]
    assert record["signatures"]["bleu"].startswith("nrefs:1|case:mixed")
    assert record["data"]["sentences"] == {"train": 300, "valid": 20, "test": 12}
    assert (
        record["data"]["sha256"]["train.de"] == hashlib.sha256((tmp_path / "raw" / "train.de").read_bytes()).hexdigest()
    )
    reference = (tmp_path / "raw" / "test.de").read_text(encoding="utf-8").split("\n")
    assert [sample["reference"] for sample in record["samples"]] == reference[:12:2]
    assert all(set(sample) == {"line", "source", "reference", "none", "sinusoidal"} for sample in record["samples"])
    assert "| sinusoidal |" in (tmp_path / "results.md").read_text(encoding="utf-8")

    # Again: nothing is done twice. Then as if the training of one system had been cut off before its end.
    made = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.name in ("generate.log", "train.log")}
    assert len(made) == 4
    assert run.main(command) == 0
    # Text, tokens of six files, subwords, six files of them, numbers; two trainings, translations; scores.
    assert capsys.readouterr().out.count("already done") == 15 + 4 + 1
    assert {path: path.stat().st_mtime_ns for path in made} == made
    (tmp_path / "none" / "training" / "finished").unlink()
    assert run.main(command) == 0
    assert "Loaded checkpoint" in (tmp_path / "none" / "training" / "train.out").read_text(encoding="utf-8")
    assert len(records((tmp_path / "none" / "training" / "train.log").read_text(encoding="utf-8"), "train")) == 2


@pytest.mark.parametrize(("systems", "cores", "jobs"), [(3, 1, 1), (3, 2, 3), (4, 2, 4), (15, 2, 2), (3, 8, 3)])
def test_systems_share_the_cores_and_end_together(systems, cores, jobs):
    assert run.side_by_side(systems, cores) == jobs


def trainings(tmp_path, *arguments):
    """{name: training} of the quickstart with these options."""
    steps = run.plan(run.checked(run.parse([*arguments, "--output", str(tmp_path)])), 1)
    return {step.title: step for step in steps if isinstance(step, Training)}


def test_a_training_keeps_its_memory_and_its_core(tmp_path):
    for step in trainings(tmp_path).values():
        assert step.environment["OMP_NUM_THREADS"] == "1"
        assert int(step.environment["MALLOC_MMAP_THRESHOLD_"]) == int(step.environment["MALLOC_TRIM_THRESHOLD_"]) > 1e8


def test_posnet_has_a_kernel_for_every_position_of_the_grammar(tmp_path, grammar_corpus):
    words = trainings(tmp_path)["posnet-embed"].argv()
    positions = int(words[words.index("--posnet-max-positions") + 1])
    lines = [" ".join(re.findall(r"\w+|[^\w\s]", side)) for pair in grammar_corpus["train"] for side in pair]
    bpe = BPE(io.StringIO(learn_merges(run.PRESETS["grammar"].subwords, lines).decode()))
    held_out = [side for split in ("valid", "test") for pair in grammar_corpus[split] for side in pair]
    longest = max(len(bpe.process_line(line).split()) for line in lines + held_out if len(line.split()) > 20)
    # The end of the sentence has a position too; other seeds have slightly longer sentences.
    assert positions / 2 < longest + 1 < positions - 8


def test_moses_tokens_come_back_as_they_were(tmp_path):
    """The tokens of the pipeline, undone as fairseq's ``--tokenizer moses`` does it, are the text."""
    text = 'Er sagt: "Das ist gut", und geht.\nEin T-Shirt & ein 3,5-Liter-Topf.\nDer Mann, den sie sieht, schläft.\n'
    (tmp_path / "raw").write_text(text, encoding="utf-8")
    moses.main(["de", str(tmp_path / "raw"), str(tmp_path / "tokens")])
    tokens = (tmp_path / "tokens").read_text(encoding="utf-8").split("\n")[:-1]
    assert tokens[2] == "Der Mann , den sie sieht , schläft ."
    assert "T @-@ Shirt &amp; ein" in tokens[1]
    assert [MosesDetokenizer("de").detokenize(line.split()) for line in tokens] == text.split("\n")[:-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--encodings none,sinusodial", "sinusoidal"),
        ("--encodings none,none", "twice"),
        ("--pair en-fr", "--corpus multi30k"),
        ("--data .", "--corpus multi30k"),
        ("--jobs 0", "--jobs 0"),
        ("--max-epoch 0", "--max-epoch 0"),
        ("--seed 0", "--seed 0"),
        ("--corpus multi30k --data missing", "lacks train.en.gz"),
    ],
)
def test_bad_options_are_one_line_and_leave_nothing(arguments, message, tmp_path, capsys):
    output = tmp_path / "out"
    assert run.main([*arguments.split(), "--output", str(output)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.startswith("quickstart: error: ") and message in error
    assert not output.exists()


def test_an_output_that_is_a_file_is_kept(tmp_path, capsys):
    (tmp_path / "out").write_text("mine")
    assert run.main(["--output", str(tmp_path / "out")]) == 2
    assert "not a folder" in capsys.readouterr().err
    assert (tmp_path / "out").read_text() == "mine"
