"""``fairseq-posenc score``: table, JSON and mistakes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_posenc.cli import main
from fairseq_posenc.scoring.metrics import bleu_metric, chrf_metric, score
from fairseq_posenc.scoring.significance import mark
from tests.support.translations import GOOD, POOR, REFERENCES, generated


def run_json(tmp_path, *arguments):
    target = tmp_path / "scores.json"
    assert main(["score", *arguments, "--json", str(target)]) == 0
    return json.loads(target.read_text(encoding="utf-8"))


def test_two_systems(tmp_path, write, reference, capsys):
    good, poor = write("good.txt", GOOD), write("poor.txt", POOR)
    record = run_json(tmp_path, "--ref", reference, "--hyp", good, "--hyp", poor, "--bootstrap-samples", "50")
    assert record["references"] == reference and record["lines"] == 4
    bleu, chrf = bleu_metric(REFERENCES), chrf_metric(REFERENCES)
    assert record["systems"] == [
        {"name": name, "path": path, "bleu": score(bleu, text), "chrf++": score(chrf, text), "tokenized_bleu": None}
        for name, path, text in (("good", good, GOOD), ("poor", poor, POOR))
    ]
    assert record["systems"][0]["bleu"] > record["systems"][1]["bleu"] + 20
    assert record["signatures"]["bleu"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert "|nc:6|nw:2|" in record["signatures"]["chrf++"]
    significance = record["significance"]
    assert (significance["baseline"], significance["samples"], significance["seed"]) == ("good", 50, 12345)
    assert set(significance["p_values"]) == {"poor"} and set(significance["p_values"]["poor"]) == {"bleu", "chrf++"}
    assert all(0 < p <= 0.1 for p in significance["p_values"]["poor"].values())
    assert significance["levels"] == [0.05, 0.10]  # of the PosNet paper's ++ and +
    p_values, marks = significance["p_values"]["poor"], significance["marks"]["poor"]
    assert marks == {name: "--" if p < 0.05 else "-" for name, p in p_values.items()}
    assert record["versions"]["sacrebleu"] and record["command"] and "commit" in record
    table = capsys.readouterr().out
    assert (
        table.split("\n")[1].split()
        == ["good", f"{score(bleu, GOOD):.2f}", f"{score(chrf, GOOD):.2f}"] + ["baseline"] * 2
    )
    assert record["signatures"]["bleu"] in table


@pytest.mark.parametrize(
    ("difference", "p", "expected"),
    [(1, 0.04, "++"), (1, 0.05, "+"), (1, 0.09, "+"), (1, 0.1, ""), (-1, 0.04, "--"), (-1, 0.09, "-"), (-1, 0.5, "")],
)
def test_marks_at_the_levels_of_the_paper(difference, p, expected):
    assert mark(difference, p) == expected


def test_marks_in_the_table(tmp_path, write, reference, capsys):
    files = [write("middle.txt", GOOD[:2] + POOR[2:]), write("best.txt", REFERENCES), write("worst.txt", POOR)]
    levels = ("--levels", "0.3", "0.9", "--bootstrap-samples", "100")
    marks = run_json(tmp_path, "--ref", reference, "--hyp", *files, *levels)["significance"]["marks"]
    assert marks["best"]["bleu"].startswith("+") and marks["worst"]["bleu"].startswith("-")
    _, first, better, worse, *_ = capsys.readouterr().out.split("\n")
    assert first.split()[2] == first.split()[2].rstrip("+-")
    assert better.split()[1] == "100.00" + marks["best"]["bleu"]
    assert worse.split()[1].endswith(marks["worst"]["bleu"])


def test_one_system_has_no_significance(tmp_path, write, reference):
    assert run_json(tmp_path, "--ref", reference, "--hyp", write("good.txt", GOOD))["significance"] is None


def test_seed_decides_the_bootstrap(tmp_path, write, reference):
    files = [write("one.txt", GOOD[:2] + POOR[2:]), write("two.txt", POOR[:2] + GOOD[2:])]
    runs = [
        run_json(tmp_path, "--ref", reference, "--hyp", *files, "--seed", seed, "--bootstrap-samples", "200")
        for seed in ("1", "1", "2")
    ]
    p_values = [run["significance"]["p_values"] for run in runs]
    assert p_values[0] == p_values[1] != p_values[2]


def test_popovics_smoothing(tmp_path, write, reference):
    poor = write("poor.txt", POOR)
    plain = run_json(tmp_path, "--ref", reference, "--hyp", poor)
    smoothed = run_json(tmp_path, "--ref", reference, "--hyp", poor, "--chrf-eps-smoothing")
    assert plain["systems"][0]["chrf++"] != smoothed["systems"][0]["chrf++"]
    assert "eff:no" in smoothed["signatures"]["chrf++"] and "eff:yes" in plain["signatures"]["chrf++"]


def test_generate_output_scores_like_its_text(tmp_path, write, reference, capsys):
    tokenized = [line.replace(".", " .").replace(",", " ,") for line in GOOD]
    output = write("generate-test.txt", generated(tokenized, REFERENCES, detokenized=GOOD))
    plain = write("good.txt", GOOD)
    record = run_json(tmp_path, "--ref", reference, "--hyp", output, "--hyp", plain, "--bootstrap-samples", "20")
    first, second = record["systems"]
    assert (first["name"], first["bleu"], first["chrf++"]) == ("generate-test", second["bleu"], second["chrf++"])
    assert first["tokenized_bleu"] is None
    assert "detokenised its T- lines" in capsys.readouterr().err


def test_generate_output_without_ref_uses_its_t_lines(tmp_path, write, capsys):
    output = write("gen.out", generated(GOOD, REFERENCES))
    record = run_json(tmp_path, "--hyp", output)
    assert record["systems"][0]["bleu"] == score(bleu_metric(REFERENCES), GOOD)
    assert (record["references"], record["references_are"]) == (output, "T- lines")
    assert "for a comparable sacreBLEU give the raw text with --ref" in capsys.readouterr().err


def test_tokenized_bleu_is_the_same_from_both_kinds_of_file(tmp_path, write):
    hypotheses = [line.replace(".", " .").replace("Buch", "Koch-Buch") for line in GOOD]
    references = [line.replace(".", " .").replace("Buch", "Lese-Buch") for line in REFERENCES]
    output = write("gen.out", generated(hypotheses, references))
    plain, reference = write("plain.txt", hypotheses), write("ref.tok", references)
    from_output = run_json(tmp_path, "--hyp", output)
    from_plain = run_json(tmp_path, "--ref", reference, "--hyp", plain, "--tokenized")
    assert from_output["systems"][0]["tokenized_bleu"] == from_plain["systems"][0]["tokenized_bleu"] > 10
    assert from_plain["signatures"]["tokenized_bleu"].endswith("|compounds:split")
    assert run_json(tmp_path, "--ref", reference, "--hyp", plain)["systems"][0]["tokenized_bleu"] is None


def test_warnings_on_text_that_misleads(tmp_path, write, reference):
    tokenized = write("tokenized.txt", [line.replace(".", " .") for line in GOOD])
    pieces = write("pieces.txt", [line.replace("en", "@@ en") for line in GOOD])
    notes = run_json(tmp_path, "--ref", reference, "--hyp", tokenized, pieces, "--bootstrap-samples", "9")["notes"]
    assert len(notes) == 2 and "tokenized.txt is tokenised" in notes[0] and "pieces.txt contains subword" in notes[1]
    assert run_json(tmp_path, "--ref", reference, "--hyp", write("good.txt", GOOD))["notes"] == []


def test_names(tmp_path, write, reference):
    paths = [write("a/generate-test.txt", GOOD), write("b/generate-test.txt", POOR), write("c/other.txt", POOR)]
    samples = ("--bootstrap-samples", "9")
    record = run_json(tmp_path, "--ref", reference, "--hyp", *paths, *samples)
    assert [row["name"] for row in record["systems"]] == ["a/generate-test", "b/generate-test", "other"]
    record = run_json(tmp_path, "--ref", reference, "--hyp", *paths, "--names", "x", "y", "--names", "z", *samples)
    assert [row["name"] for row in record["systems"]] == ["x", "y", "z"]


def test_the_old_name_of_a_flag_works_and_names_the_new_one(tmp_path, write, reference, capsys):
    paths = [write("good.txt", GOOD), write("poor.txt", POOR)]
    words = ("--hyp", *paths, "--name", "x", "--name", "y", "--bootstrap-samples", "9")
    assert [row["name"] for row in run_json(tmp_path, "--ref", reference, *words)["systems"]] == ["x", "y"]
    assert "note: --name is now --names" in capsys.readouterr().err


BAD_FILES = {
    "missing": (None, "No such file"),
    "empty": (b"", "is empty"),
    "short": (b"one line\n", "has 1 lines but"),
    "latin1": ("Übel\n".encode("latin-1") * 4, "is not UTF-8: byte 0xdc in line 1"),
    "binary": (b"a\nb\0\nc\nd\n", "line 2 contains a NUL byte"),
    "gzip": (b"\x1f\x8b\x08\x00", "decompress it first"),
}


@pytest.mark.parametrize("case", BAD_FILES)
@pytest.mark.parametrize("which", ["--hyp", "--ref"])
def test_bad_files_end_in_one_line_and_change_nothing(tmp_path, write, reference, capsys, case, which):
    content, message = BAD_FILES[case]
    bad = tmp_path / "bad.txt"
    if content is not None:
        bad.write_bytes(content)
    target = tmp_path / "scores.json"
    target.write_text("kept")
    files = {"--ref": reference, "--hyp": write("good.txt", GOOD), which: str(bad)}
    if case == "short" and which == "--ref":
        message = "has 4 lines but"
    assert main(["score", *(word for pair in files.items() for word in pair), "--json", str(target)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error and "bad.txt" in error
    assert target.read_text() == "kept"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--hyp", "{good}"], "is plain text without references; give --ref"),
        (["--ref", "{ref}", "--hyp", "{good}", "{good}"], "is given twice"),
        (["--ref", "{ref}", "--hyp", "{good}", "{poor}", "--names", "x", "x"], "--names x is given twice"),
        (["--ref", "{ref}", "--hyp", "{good}", "--names", "x", "y"], "2 --names for 1 --hyp"),
        (["--ref", "{ref}", "--hyp", "{good}", "--seed", "0"], "bootstrap seed 0"),
        (["--ref", "{ref}", "--hyp", "{good}", "--bootstrap-samples", "0"], "0 bootstrap samples"),
        (["--ref", "{ref}", "--hyp", "{good}", "--levels", "0.1", "0.05"], "--levels 0.1 0.05"),
        (["--ref", "{ref}", "--hyp", "{good}", "--levels", "5", "10"], "between 0 and 1"),
        (["--ref", "{ref}", "--hyp", "{good}", "--json", "{ref}"], "would overwrite an input file"),
        (["--ref", "{ref}", "--hyp", "{good}", "--json", "{ref}/x/y.json"], "does not exist"),
        (["--ref", "{gen}", "--hyp", "{good}"], "--ref"),
        (["--hyp", "{gen}", "--tokenized"], "--tokenized is for plain text"),
        (["--hyp", "{gen}", "{gen2}"], "the T- lines of"),
    ],
)
def test_mistakes_end_in_one_line(write, reference, capsys, arguments, message):
    files = {
        "ref": reference,
        "good": write("good.txt", GOOD),
        "poor": write("poor.txt", POOR),
        "gen": write("gen.out", generated(GOOD, REFERENCES)),
        "gen2": write("gen2.out", generated(GOOD, REFERENCES[::-1])),
    }
    before = {name: Path(path).read_bytes() for name, path in files.items()}
    assert main(["score", *(argument.format(**files) for argument in arguments)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error
    assert before == {name: Path(path).read_bytes() for name, path in files.items()}


def test_lines_are_cut_at_line_feeds_only(tmp_path, write):
    strange = [line.replace(" ", "\u2028", 1).replace("mit", "mit\x0c\x85\r") for line in REFERENCES]
    record = run_json(tmp_path, "--ref", write("ref", strange), "--hyp", write("hyp", strange))
    assert record["lines"] == 4 and record["systems"][0]["bleu"] == pytest.approx(100)


def test_the_command_is_recorded_as_it_was_typed(tmp_path, write, reference):
    arguments = ["score", "--ref", reference, "--hyp", write("good.txt", GOOD), "--json", str(tmp_path / "out.json")]
    subprocess.run([sys.executable, "-m", "fairseq_posenc.cli", *arguments], check=True, capture_output=True)
    record = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert record["command"] == ["python", "-m", "fairseq_posenc.cli", *arguments]


def test_scoring_needs_no_fairseq():
    code = "import sys, fairseq_posenc.cli.score; sys.exit('fairseq' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_blank_translations(write, reference, capsys):
    assert main(["score", "--ref", reference, "--hyp", write("blank.txt", ["", " ", "", ""])]) == 2
    error = capsys.readouterr().err
    assert "blank.txt has only blank lines; give the translations" in error and error.count("\n") == 1
    assert main(["score", "--ref", reference, "--hyp", write("some.txt", ["", *GOOD[1:3], " "])]) == 0
    assert "2 of the 4 lines of" in capsys.readouterr().err


def test_suffixes_tell_systems_apart(tmp_path, write, reference):
    """As WMT names its files: year.system."""
    files = [write("wmt21.ICL", GOOD), write("wmt21.UEdin", POOR), write("other.txt", POOR)]
    words = [word for path in files for word in ("--hyp", path)]
    record = run_json(tmp_path, "--ref", reference, *words, "--bootstrap-samples", "10")
    assert [row["name"] for row in record["systems"]] == ["wmt21.ICL", "wmt21.UEdin", "other"]


@pytest.mark.parametrize(
    ("option", "number", "message"),
    [
        ("--bootstrap-samples", 10**9, "1000000000 bootstrap samples: at most 10000 fit into memory"),
        ("--seed", 2**63, "give 1 or more, below 2^63"),
    ],
)
def test_a_bootstrap_out_of_range(option, number, message, write, reference, capsys):
    files = [word for name, text in (("a", GOOD), ("b", POOR)) for word in ("--hyp", write(name, text))]
    assert main(["score", "--ref", reference, *files, option, str(number)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
