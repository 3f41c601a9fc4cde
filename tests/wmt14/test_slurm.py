"""The scripts for SLURM, with its variables set and stand-ins for its commands, which are not here."""

import os
import shlex
import subprocess
import sys

import pytest

from tests.support.recipes import ROOT, VARIABLES, WMT14


@pytest.fixture
def slurm(tmp_path):
    """A function that runs a script as a job of SLURM would, on the second of two machines."""
    commands = {"scontrol": "printf 'first\\nsecond\\n'", "srun": 'SLURM_NODEID=1 exec "$@"'}
    for name, script in commands.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    def run(script, *arguments, **variables):
        environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        environment |= {"PATH": f"{tmp_path}:{environment['PATH']}", "VENV": sys.prefix, "WORK": str(tmp_path / "work")}
        environment |= {"SLURM_SUBMIT_DIR": str(ROOT), "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_ID": "20007"}
        environment |= {"DRY_RUN": "1", **variables}
        command = ["bash", str(WMT14 / "slurm" / script), *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)

    return run


def test_two_machines_train_one_system(slurm):
    result = slurm("train.sh", "none", "en-de", "base", "--seed", "2", SLURM_JOB_NUM_NODES="2", SLURM_GPUS_ON_NODE="4")
    assert result.returncode == 0, result.stderr
    words = shlex.split(result.stdout.split("\n")[-2])
    assert " ".join(words[: words.index("fairseq-train")]) == (
        "torchrun --nnodes 2 --node_rank 1 --nproc_per_node 4 --master_addr first --master_port 20007 --no-python"
    )
    assert words[words.index("--update-freq") + 1] == "1" and "--seed 2" in " ".join(words)


def test_one_task_of_an_array_is_one_row(slurm):
    result = slurm("rows.sh", "table2", "en-fr", SLURM_ARRAY_TASK_ID="2", SLURM_GPUS_ON_NODE="8")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.split("\n")
    assert "torchrun --standalone --nproc_per_node 8 " in lines[1]
    assert "transformer_shaw_wmt_en_de_big" in lines[1] and "--shaw-clip 8" in lines[1]
    assert lines[3].startswith("fairseq-generate ") and "/en-fr/big/shaw/seed1/" in lines[3]


@pytest.mark.parametrize(
    ("script", "arguments", "variables", "message"),
    [
        ("rows.sh", ("table2", "en-de"), {"SLURM_ARRAY_TASK_ID": "4"}, "has no row 4; give --array=1-3"),
        ("rows.sh", ("table9", "en-de"), {"SLURM_ARRAY_TASK_ID": "1"}, "there is no"),
        ("rows.sh", ("table2",), {"SLURM_ARRAY_TASK_ID": "1"}, "give the name of a table"),
        ("rows.sh", ("table2", "en-de"), {"SLURM_SUBMIT_DIR": "/"}, "is not the root of the repository"),
        ("train.sh", ("none",), {"SLURM_SUBMIT_DIR": "/"}, "is not the root of the repository"),
        ("train.sh", ("none",), {"SLURM_SUBMIT_DIR": ""}, "submit this script with sbatch"),
    ],
)
def test_what_cannot_work_is_one_line(script, arguments, variables, message, slurm):
    result = slurm(script, *arguments, **variables)
    assert result.returncode != 0 and result.stderr.count("\n") == 1 and message in result.stderr
