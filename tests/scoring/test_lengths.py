"""``fairseq-posenc lengths``: which sentences are in which bucket, and that each is scored as a corpus of its own."""

import json

import pytest
from sacrebleu.metrics import BLEU, CHRF

from fairseq_posenc.cli import main
from tests.support.translations import GOOD, POOR, REFERENCES

# 8, 7, 3 and 5 words, the last with more than one space between words.
SOURCES = ["a b c d e f g h", "a b c d e f g", "a b c", "a  b \t c d e"]


@pytest.fixture
def run(tmp_path, write, reference):
    files = ["--src", write("src.en", SOURCES), "--ref", reference, "--names", "good", "poor"]
    files += ["--hyp", write("good.txt", GOOD), write("poor.txt", POOR)]

    def run_command(*words):
        target = tmp_path / "lengths.json"
        assert main(["lengths", *files, *words, "--json", str(target)]) == 0
        return json.loads(target.read_text(encoding="utf-8"))

    return run_command


def test_buckets_hold_the_sentences_up_to_their_limit(run):
    result = run("--buckets", "3,5,7")
    found = [(bucket["from"], bucket["to"], bucket["sentences"], bucket["words"]) for bucket in result["buckets"]]
    assert found == [(0, 3, 1, 3), (4, 5, 1, 5), (6, 7, 1, 7), (8, None, 1, 8)]
    (both,) = run("--buckets", "4,9")["buckets"][1:]
    assert (both["sentences"], both["words"], both["longest"]) == (3, 20, 8)


def test_a_bucket_is_scored_as_a_corpus(run):
    first, second = run("--buckets", "5,8")["buckets"]
    for bucket, chosen in ((first, (2, 3)), (second, (0, 1))):
        assert list(bucket["scores"]) == ["good", "poor"]
        references = [[REFERENCES[index] for index in chosen]]
        for name, text in (("good", GOOD), ("poor", POOR)):
            hypotheses = [text[index] for index in chosen]
            bleu = BLEU().corpus_score(hypotheses, references)
            expected = {"bleu": bleu.score, "chrf++": CHRF(word_order=2).corpus_score(hypotheses, references).score}
            expected["length_ratio"] = bleu.sys_len / bleu.ref_len
            assert bucket["scores"][name] == expected


def test_a_bucket_is_compared_with_the_first_system_alone(write, tmp_path):
    """The second system is worse in the long sentences, and no other one in the short ones."""
    words = ["the", "cat", "sat", "on", "a", "mat", "near", "the", "old", "red", "door", "of", "my", "house"]
    references = [" ".join(words[number % 5 :] + words[: number % 5]) for number in range(60)]
    sources = ["a b c" if number < 30 else "a b c d e f" for number in range(60)]
    worse = [text if number < 30 else text[: len(text) // 2] for number, text in enumerate(references)]
    nearly = [text.replace("cat", "dog") for text in references]
    files = {"ref": references, "nearly": nearly, "worse": [text.replace("cat", "dog") for text in worse]}
    files = {name: write(name, text) for name, text in {**files, "src": sources, "right": references}.items()}
    target = tmp_path / "result.json"
    command = ["lengths", "--src", files["src"], "--ref", files["ref"], "--buckets", "3", "--json", str(target)]
    assert main([*command, "--hyp", files["nearly"], files["worse"], files["right"]]) == 0
    result = json.loads(target.read_text(encoding="utf-8"))
    assert result["bootstrap"]["baseline"] == "nearly"
    short, long = result["buckets"]
    assert short["significance"]["worse"] == {"p": 1.0, "mark": ""}
    assert long["significance"]["worse"]["mark"] == "--" and long["significance"]["worse"]["p"] < 0.05
    assert {part["significance"]["right"]["mark"] for part in (short, long)} == {"++"}
    assert set(short["significance"]) == {"worse", "right"}
    assert short["scores"]["worse"]["length_ratio"] == 1 and 0.4 < long["scores"]["worse"]["length_ratio"] < 0.6


def test_the_table_has_marks_and_brevity_ratios(run, capsys):
    result = run("--buckets", "5")
    printed = capsys.readouterr().out
    (ratios,) = [part for part in printed.split("\n\n") if part.startswith("brevity ratio: ")]
    expected = [
        [f"{bucket['scores'][name]['length_ratio']:.3f}" for name in ("good", "poor")] for bucket in result["buckets"]
    ]
    assert [line.split()[-2:] for line in ratios.split("\n")[2:]] == expected
    assert "-- and - worse than good: paired bootstrap" in printed


def test_one_system_is_compared_with_none(write, reference, tmp_path):
    target = tmp_path / "lengths.json"
    command = ["lengths", "--src", write("src.en", SOURCES), "--ref", reference, "--hyp", write("good.txt", GOOD)]
    assert main([*command, "--json", str(target)]) == 0
    result = json.loads(target.read_text(encoding="utf-8"))
    assert result["bootstrap"] is None and not any(bucket["significance"] for bucket in result["buckets"])


def test_empty_buckets_are_left_out(run):
    assert [(bucket["from"], bucket["to"]) for bucket in run("--buckets", "1,2,8,9")["buckets"]] == [(3, 8)]


def test_default_buckets_cover_every_sentence(run):
    result = run()
    assert result["kind"] == "lengths" and result["longest_trained"] is None
    assert sum(bucket["sentences"] for bucket in result["buckets"]) == len(SOURCES)
    assert result["signatures"]["chrf++"].startswith("nrefs:1|")


def test_longest_training_sentence(run, write, capsys):
    training = write("train.en", ["a b", "a b c d e f", "a"])
    assert run("--training-source", training)["longest_trained"] == 6
    assert "longest source sentence in training: 6 words" in capsys.readouterr().out


def test_the_table_names_the_buckets(run, capsys):
    run("--buckets", "3,7")
    lines = [line.split() for line in capsys.readouterr().out.split("\n")]
    assert [line[:-3] for line in lines[2:5]] == [["0-3"], ["4-7"], ["over", "7"]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--buckets", "10,10"], "--buckets 10,10: give increasing numbers"),
        (["--buckets", "20,10"], "--buckets 20,10: give increasing numbers"),
        (["--buckets", "0,10"], "--buckets 0,10: give increasing numbers"),
        (["--src", "{short}"], "has 3 lines but there are 4 references"),
        (["--json", "{src}"], "would overwrite an input file"),
        (["--training-source", "no-such-file"], "cannot read no-such-file"),
    ],
)
def test_mistakes_end_in_one_line(write, reference, capsys, words, message):
    files = {"src": write("src.en", SOURCES), "short": write("short.en", SOURCES[:3])}
    command = ["lengths", "--src", files["src"], "--ref", reference, "--hyp", write("good.txt", GOOD)]
    assert main([*command, *(word.format(**files) for word in words)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error


def test_buckets_that_are_no_numbers_are_refused(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["lengths", "--src", "x", "--hyp", "y", "--buckets", "10,many"])
    assert caught.value.code == 2
    assert "--buckets: 10,many: give whole numbers separated by commas" in capsys.readouterr().err
