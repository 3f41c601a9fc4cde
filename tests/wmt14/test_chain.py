"""The whole chain at SCALE=smoke: interrupted, continued, done again; and what trained systems protect."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from examples.common.locks import Lock
from tests.support.recipes import WMT14, processes

SYSTEMS = ("none", "sinusoidal")


def files(folder):
    """{file: time of its last change} of all that took work to make."""
    return {
        path: path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.suffix in (".pt", ".bin") or path.name in ("train.log", "generate.log")
    }


@pytest.fixture(scope="module")
def chain(wmt14_smoke, tmp_path_factory):
    """($WORK, output of the interrupted run of reproduce.sh table1, of the next, its files then, of the one after)."""
    work = tmp_path_factory.mktemp("chain") / "work"
    shutil.copytree(wmt14_smoke[0], work)
    variables = {"VENV": sys.prefix, "SCALE": "smoke", "WORK": str(work), "JOBS": "2", "OMP_NUM_THREADS": "1"}
    command = ["bash", str(WMT14 / "reproduce.sh"), "table1", "--only", ",".join(SYSTEMS)]

    def start(log):
        # To a file: what a pipe would wait for is what must not be left.
        with open(work / log, "w") as output:
            return subprocess.Popen(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **variables},
                start_new_session=True,
            )

    first = start("first")
    wanted = work / "smoke" / "en-de" / "base" / "none" / "seed1" / "checkpoints" / "checkpoint_1_6.pt"
    deadline = time.monotonic() + 120
    while not wanted.exists() and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    first.send_signal(signal.SIGTERM)
    status = first.wait()
    time.sleep(0.2)  # a signal takes a moment
    left = processes(str(work))
    interrupted = (work / "first").read_text(), status, left
    status = start("second").wait()
    continued = (work / "second").read_text(), status
    made = files(work)
    status = start("third").wait()
    return work, interrupted, continued, made, ((work / "third").read_text(), status)


def test_an_interruption_ends_every_process_and_says_what_continues(chain):
    _, (output, status, left), *_ = chain
    assert status == 130 and not left
    assert "reproduce.sh: interrupted; run the same command again to continue" in output


def test_the_same_command_continues_to_the_table(chain):
    work, _, (output, status), made, _ = chain
    assert status == 0, output
    folder = work / "smoke" / "en-de" / "base" / "none" / "seed1"
    assert "Loaded checkpoint" in (folder / "train.out").read_text()
    assert "none en-de base seed 1: epoch 1, update 30, validation loss" in output
    record = json.loads((work / "smoke" / "results" / "table1.json").read_text())
    systems = record["pairs"]["en-de"]["systems"]
    assert [system["name"] for system in systems] == list(SYSTEMS)
    for system in systems:
        (training,) = system["trainings"]
        assert training["updates"] == 30 and system["parameters"] == 38_528 and system["words_per_second"] > 0
        assert len(training["valid_losses"]) == 5 and training["valid_losses"][-1][1] < training["valid_losses"][0][1]
        assert 0 <= system["bleu"] < 50 and 0 < system["chrf++"] < 60 and 0 <= system["tokenized_bleu"] < 50
        assert system["paper"]["bleu"] in output and f"{system['chrf++']:.2f}" in output
        assert training["command"].startswith("fairseq-train $WORK/smoke/en-de/binary ")
    assert record["command"] == (
        "SCALE=smoke CORPUS=grammar SEEDS=1 JOBS=2 examples/wmt14/reproduce.sh table1 --pairs en-de "
        "--only none,sinusoidal"
    )
    assert str(work) not in (work / "smoke" / "results" / "table1.json").read_text()
    for ending in ("md", "tsv"):
        assert "sinusoidal" in (work / "smoke" / "results" / f"table1.{ending}").read_text()


def test_once_more_does_nothing_but_the_table(chain):
    work, _, (before, _), made, (output, status) = chain
    assert status == 0
    assert files(work) == made
    # Two trainings, averages, translations; one score.
    assert output.count("already done") == 7
    assert output[output.index("table1, en-de") :] == before[before.index("table1, en-de") :]


def test_other_settings_do_not_mix_with_a_trained_system(chain, wmt14_script):
    work, *_ = chain
    before = files(work)
    result = wmt14_script("train.sh", "none", "en-de", "base", "--dropout", "0.3", SCALE="smoke", WORK=work)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert "was trained with other settings or another dictionary" in result.stderr and "NAME=" in result.stderr
    result = wmt14_script("train.sh", "none", "en-de", "base", SCALE="smoke", WORK=work)
    assert result.returncode == 0 and result.stdout == "train none en-de base seed 1: already done\n"
    assert files(work) == before


def test_a_folder_is_trained_in_by_one_process_at_a_time(chain, wmt14_script):
    work, *_ = chain
    folder = work / "smoke" / "en-de" / "base" / "rope" / "seed1"
    with Lock(folder, ".lock-0"):
        result = wmt14_script("train.sh", "rope", "en-de", "base", SCALE="smoke", WORK=work)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert f"process {os.getpid()} on " in result.stderr and f" is working in {folder}; wait" in result.stderr
    assert not (folder / "checkpoints").exists()


def test_a_second_run_in_the_folder_says_so_and_stops(chain, wmt14_script):
    work, *_ = chain
    before = files(work)
    with Lock(work / "smoke" / "results"):
        result = wmt14_script("reproduce.sh", "table2", SCALE="smoke", WORK=work)
    assert result.returncode == 2 and not result.stdout and result.stderr.count("\n") == 1
    assert f"reproduce.sh: error: process {os.getpid()} on " in result.stderr and "is working in " in result.stderr
    assert files(work) == before


def test_fewer_checkpoints_than_asked_for_are_said_and_change_nothing(chain, wmt14_script):
    work, *_ = chain
    before = files(work)
    result = wmt14_script("generate.sh", "none", "en-de", "base", SCALE="smoke", WORK=work, AVERAGE="9")
    assert result.returncode != 0 and "has only 5 of the requested 9 checkpoints" in result.stderr
    assert files(work) == before
