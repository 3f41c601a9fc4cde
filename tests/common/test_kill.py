"""Slow: a recipe that is killed at random moments and started again ends with the numbers of one that was not.

``KILLS=N`` kills each recipe N times instead of 20; ``KILL_SEED=N`` repeats the moments of a failure.
"""

import json
import os
import random
import signal
import subprocess
import time

import pytest

from tests.support.recipes import ROOT, clean_environment, processes

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("KILLS", "20"))
SEED = int(os.environ.get("KILL_SEED", str(random.randrange(10**6))))
#: Facts that are measured by the clock, or tell when and where.
OTHER = {"words_per_second", "words_per_second_deviation", "training_minutes", "training_minutes_deviation"}
OTHER |= {"date", "commit", "uncommitted_changes", "hardware", "versions"}


def numbers(record):
    """A record without what another run has otherwise."""
    if isinstance(record, dict):
        return {key: numbers(value) for key, value in record.items() if key not in OTHER}
    return [numbers(value) for value in record] if isinstance(record, list) else record


def start(recipe, what, work):
    with open(work.with_suffix(".out"), "a") as output:
        return subprocess.Popen(
            ["bash", str(ROOT / "examples" / recipe / "reproduce.sh"), what],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=clean_environment(SCALE="smoke", WORK=work, JOBS=2),
        )


@pytest.mark.parametrize(
    ("recipe", "what", "result"),
    [
        ("wmt14", "table1", "smoke/results/table1.json"),
        ("lm", "sandwich-table3", "smoke/stdlib/results/sandwich-table3.json"),
    ],
)
def test_killed_at_random_moments(recipe, what, result, tmp_path):
    begun = time.monotonic()
    assert start(recipe, what, tmp_path / "whole").wait() == 0, (tmp_path / "whole.out").read_text()
    seconds = time.monotonic() - begun
    moments, said = random.Random(SEED), tmp_path / "killed.out"
    for kill in range(KILLS):
        run = start(recipe, what, tmp_path / "killed")
        # Together they take about as long as the whole.
        time.sleep(moments.uniform(0, 2 * seconds / KILLS))
        if run.poll() is None:
            run.send_signal(signal.SIGKILL)
        assert run.wait() in (0, -signal.SIGKILL), (SEED, kill, said.read_text())
        deadline = time.monotonic() + 10
        while processes(str(tmp_path / "killed") + "/") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not processes(str(tmp_path / "killed") + "/"), (SEED, kill)
    assert start(recipe, what, tmp_path / "killed").wait() == 0, (SEED, said.read_text())
    records = [json.loads((tmp_path / work / result).read_text()) for work in ("whole", "killed")]
    assert numbers(records[0]) == numbers(records[1]), SEED
