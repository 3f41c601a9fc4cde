"""The whole chain at SCALE=smoke: two systems from data to table and figure; done again, changed, added to."""

import json

import pytest

VARIABLES = {"SCALE": "smoke", "SEEDS": "1 2", "JOBS": "2"}
SYSTEMS = ("sandwich", "alibi")
CELLS = "results/cells/sandwich-table3-test-by-seed.json"


def files(folder):
    """{file: time of its last change} of all that took work to make."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.suffix in (".pt", ".bin")}


@pytest.fixture(scope="module")
def chain(lm_smoke, lm_script):
    """($WORK/smoke/stdlib, the output of the first run of sandwich-table3, its files then, that of the second)."""
    home = lm_smoke / "smoke" / "stdlib"
    outputs = []
    for _ in range(2):
        done = lm_script("reproduce.sh", "sandwich-table3", "--only", ",".join(SYSTEMS), WORK=lm_smoke, **VARIABLES)
        assert done.returncode == 0, done.stdout + done.stderr
        outputs.append((done.stdout, files(home), (home / CELLS).read_bytes()))
    return home, *outputs


def test_trained_evaluated_compared(chain):
    home, (output, *_), _ = chain
    record = json.loads((home / "results" / "sandwich-table3.json").read_text())
    assert record["measure"] == "perplexity" and record["training_length"] == 16 and record["seeds"] == [1, 2]
    text = record["texts"]["test"]
    assert text["baseline"] == "sandwich" and text["protocol"]["name"] == "last-token" and text["protocol"]["by_seed"]
    assert [row["row"] for row in text["rows"]] == ["Sandwich", "ALiBi"]
    for row in text["rows"]:
        assert sorted(map(int, row["values"])) == [16, 32, 64, 128, 256]
        for number in row["values"].values():
            # Below that of 501 equally probable subwords.
            assert 20 < number["value"] < 501 and number["deviation"] > 0 and number["seeds"] == 2
    for system in SYSTEMS:
        for training in record["trainings"][system]:
            assert training["updates"] == 20 and training["parameters"] == 49_216
            assert training["valid_losses"][-1][1] < training["valid_losses"][0][1]
            assert training["command"].startswith("fairseq-train $WORK/smoke/stdlib/binary ")
    assert record["paper"]["ArXiv"][1]["values"]["8192"] == {"value": "5.58", "deviation": "0.40", "mark": "†"}
    assert record["command"] == (
        "SCALE=smoke CORPUS=stdlib SEEDS='1 2' examples/lm/reproduce.sh sandwich-table3 --only sandwich,alibi"
    )
    assert str(home) not in (home / "results" / "sandwich-table3.json").read_text()
    for place in (output, (home / "results" / "sandwich-table3.md").read_text()):
        assert "16 (1x)" in place and "5.27 ± 0.33" in place and "the paper's sandwich-table3" in place
    for ending in ("png", "pdf", "tsv"):
        assert (home / "results" / f"sandwich-table3-test.{ending}").stat().st_size > 500


def test_once_more_does_nothing_but_the_table(chain):
    _, (before, made, cells), (output, still, same_cells) = chain
    assert made == still and cells == same_cells
    # Four trainings, one evaluation.
    assert output.count("already done") == 5
    assert (
        output[output.index("sandwich-table3: perplexity") :] == before[before.index("sandwich-table3: perplexity") :]
    )


def test_other_settings_do_not_mix_with_a_trained_system(chain, lm_smoke, lm_script):
    home, *_ = chain
    before = files(home)
    result = lm_script("train.sh", "alibi", "tiny", "--dropout", "0.3", SCALE="smoke", WORK=lm_smoke)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert "was trained with other settings or another dictionary" in result.stderr and files(home) == before


def test_another_analysis_of_the_same_systems_trains_nothing(chain, lm_smoke, lm_script):
    """Figure 5 has one of them too; one seed, as in the paper."""
    home, *_ = chain
    before = files(home)
    done = lm_script("reproduce.sh", "sandwich-figure5", "--only", "alibi", SCALE="smoke", WORK=lm_smoke)
    assert done.returncode == 0, done.stdout + done.stderr
    assert files(home) == before
    record = json.loads((home / "results" / "sandwich-figure5.json").read_text())
    (row,) = record["texts"]["test"]["rows"]
    # 63 tokens stand before the predicted one.
    assert list(row["values"]) == ["64"] and 1 <= row["values"]["64"]["value"] <= 63
    assert row["values"]["64"]["bound"] is None and "2048 (4x)" in done.stdout
    assert (home / "results" / "sandwich-figure5-test.png").stat().st_size > 500


def test_a_system_that_was_trained_anew_is_evaluated_anew(chain, lm_smoke, lm_script):
    home, *_ = chain
    path = home / CELLS
    (home / "sandwich-tiny" / "alibi" / "seed2" / "checkpoints" / "checkpoint_last.pt").write_bytes(
        (home / "sandwich-tiny" / "alibi" / "seed1" / "checkpoints" / "checkpoint_last.pt").read_bytes()
    )
    before = json.loads(path.read_text())
    done = lm_script("reproduce.sh", "sandwich-table3", "--only", ",".join(SYSTEMS), WORK=lm_smoke, **VARIABLES)
    assert done.returncode == 0, done.stdout + done.stderr
    after = json.loads(path.read_text())
    before, after = (
        {checkpoint["path"]: checkpoint["sha256"] for checkpoint in record["checkpoints"]} for record in (before, after)
    )
    assert before.keys() == after.keys() and len(set(before.values())) == 4
    changed = {path for path in before if before[path] != after[path]}
    assert changed == {"sandwich-tiny/alibi/seed2/checkpoints/checkpoint_last.pt"}


def test_one_seed_after_two(chain, lm_smoke, lm_script):
    """Their segments are others: neither run's numbers are in the way of the other's."""
    home, *_ = chain
    before = json.loads((home / CELLS).read_text())["cells"]
    for seeds in ("1", "1 2"):
        words = {**VARIABLES, "SEEDS": seeds}
        done = lm_script("reproduce.sh", "sandwich-table3", "--only", ",".join(SYSTEMS), WORK=lm_smoke, **words)
        assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((home / CELLS).read_text())["cells"] == before
    assert (home / "results/cells/sandwich-table3-test.json").exists()
