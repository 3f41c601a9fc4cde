"""The scripts for SLURM, with its variables set and stand-ins for its commands, which are not here."""

import subprocess

import pytest

from tests.support.recipes import LM, ROOT, clean_environment, commands


@pytest.fixture
def slurm(tmp_path):
    """A function that runs a script as a job of SLURM would, on the second of two machines."""
    for name, script in {"scontrol": "printf 'first\\nsecond\\n'", "srun": 'SLURM_NODEID=1 exec "$@"'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    def run(script, *arguments, **variables):
        environment = clean_environment(WORK=tmp_path / "work", DRY_RUN=1)
        environment |= {"PATH": f"{tmp_path}:{environment['PATH']}", "SLURM_SUBMIT_DIR": str(ROOT)}
        environment |= {"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_ID": "20007", **variables}
        command = ["bash", str(LM / "slurm" / script), *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)

    return run


def test_two_machines_train_one_system(slurm):
    result = slurm("train.sh", "xpos", "gpt2_medium", "--seed", "2", SLURM_JOB_NUM_NODES="2", SLURM_GPUS_ON_NODE="8")
    assert result.returncode == 0, result.stderr
    words = commands(result.stdout)[-1]
    assert " ".join(words[: words.index("fairseq-train")]) == (
        "torchrun --nnodes 2 --node_rank 1 --nproc_per_node 8 --master_addr first --master_port 20007 --no-python"
    )
    assert words[words.index("--update-freq") + 1] == "4" and "--seed 2" in " ".join(words)


def test_one_task_of_an_array_is_one_system_with_all_its_seeds(slurm):
    result = slurm("systems.sh", "sandwich-table3", SLURM_ARRAY_TASK_ID="6", SLURM_GPUS_ON_NODE="8")
    assert result.returncode == 0, result.stderr
    trainings = [words for words in commands(result.stdout) if "fairseq-train" in words]
    assert len(trainings) == 5 and all("transformer_lm_kerple_log_base" in words for words in trainings)
    assert all(words[words.index("--nproc_per_node") + 1] == "8" for words in trainings)
    assert "extrapolate" not in result.stdout


@pytest.mark.parametrize(
    ("script", "arguments", "variables", "message"),
    [
        ("systems.sh", ("lex-table2",), {"SLURM_ARRAY_TASK_ID": "5"}, "has no system 5; give --array=1-4"),
        ("systems.sh", ("lex-figure2",), {"SLURM_ARRAY_TASK_ID": "1"}, "lex-figure2 trains no systems"),
        ("systems.sh", ("table9",), {"SLURM_ARRAY_TASK_ID": "1"}, "table9 trains no systems"),
        ("systems.sh", (), {"SLURM_ARRAY_TASK_ID": "1"}, "give the name of a table or figure"),
        ("systems.sh", ("lex-table2",), {"SLURM_SUBMIT_DIR": "/"}, "is not the root of the repository"),
        ("train.sh", ("xpos", "base"), {"SLURM_SUBMIT_DIR": "/"}, "is not the root of the repository"),
        ("train.sh", ("xpos", "base"), {"SLURM_SUBMIT_DIR": ""}, "submit this script with sbatch"),
    ],
)
def test_what_cannot_work_is_one_line(script, arguments, variables, message, slurm):
    result = slurm(script, *arguments, **variables)
    assert result.returncode != 0 and result.stderr.count("\n") == 1 and message in result.stderr
