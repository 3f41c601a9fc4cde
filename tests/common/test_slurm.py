"""The recipes' scripts for SLURM, with its variables set and stand-ins for its commands, which are not here."""

import subprocess

import pytest

from tests.support.recipes import LM, ROOT, WMT14, clean_environment, commands


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
        command = ["bash", str(script), *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)

    return run


@pytest.mark.parametrize(
    ("script", "arguments", "gpus", "update_freq"),
    [
        (WMT14 / "slurm" / "train.sh", ("none", "en-de", "base"), "4", "1"),
        (LM / "slurm" / "train.sh", ("xpos", "gpt2_medium"), "8", "4"),
    ],
)
def test_two_machines_train_one_system(script, arguments, gpus, update_freq, slurm):
    result = slurm(script, *arguments, "--seed", "2", SLURM_JOB_NUM_NODES="2", SLURM_GPUS_ON_NODE=gpus)
    assert result.returncode == 0, result.stderr
    argv = commands(result.stdout)[-1]
    assert " ".join(argv[: argv.index("fairseq-train")]) == (
        f"torchrun --nnodes 2 --node_rank 1 --nproc_per_node {gpus} --master_addr first --master_port 20007 --no-python"
    )
    assert argv[argv.index("--update-freq") + 1] == update_freq and "--seed 2" in " ".join(argv)


def test_a_task_of_wmt14_trains_and_translates_one_row(slurm):
    script = WMT14 / "slurm" / "rows.sh"
    result = slurm(script, "table2", "en-fr", SLURM_ARRAY_TASK_ID="2", SLURM_GPUS_ON_NODE="8")
    assert result.returncode == 0, result.stderr
    assert "torchrun --standalone --nproc_per_node 8 " in result.stdout
    (training,) = [argv for argv in commands(result.stdout) if "fairseq-train" in argv]
    assert "transformer_shaw_wmt_en_de_big" in training and training[training.index("--shaw-clip") + 1] == "8"
    *_, translation = result.stdout.strip().split("\n")
    assert translation.startswith("fairseq-generate ") and "/en-fr/big/shaw/seed1/" in translation


def test_a_task_of_positions_trains_one_row_and_translates_joined_sentences(slurm):
    result = slurm(WMT14 / "slurm" / "rows.sh", "positions", "en-fr", SLURM_ARRAY_TASK_ID="8", SLURM_GPUS_ON_NODE="8")
    assert result.returncode == 0, result.stderr
    (training,) = [argv for argv in commands(result.stdout) if "fairseq-train" in argv]
    assert training[training.index("--positions") + 1] == "random:1024"
    assert training[training.index("fairseq-train") + 1].endswith("/en-fr/joined-training/binary")
    *_, translation = result.stdout.strip().split("\n")
    assert translation.startswith("fairseq-generate ") and "/en-fr/joined/binary " in translation
    assert "/en-fr/base/sinusoidal-random-joined/seed1/" in translation


def test_a_task_of_lm_trains_one_system_with_all_its_seeds(slurm):
    script = LM / "slurm" / "systems.sh"
    result = slurm(script, "sandwich-table3", SLURM_ARRAY_TASK_ID="6", SLURM_GPUS_ON_NODE="8")
    assert result.returncode == 0, result.stderr
    trainings = [argv for argv in commands(result.stdout) if "fairseq-train" in argv]
    assert len(trainings) == 5 and all("transformer_lm_kerple_log_base" in argv for argv in trainings)
    assert all(argv[argv.index("--nproc_per_node") + 1] == "8" for argv in trainings)
    assert "extrapolate" not in result.stdout


def test_tasks_count_the_systems_of_the_result(slurm):
    result = slurm(LM / "slurm" / "systems.sh", "sandwich-figure4", SLURM_ARRAY_TASK_ID="1")
    (training,) = [argv for argv in commands(result.stdout) if "fairseq-train" in argv]
    assert "/window40/" in " ".join(training)


@pytest.mark.parametrize(
    ("script", "arguments", "variables", "message"),
    [
        ("wmt14/slurm/rows.sh", ("table2", "en-de"), {"SLURM_ARRAY_TASK_ID": "4"}, "table2, which has 3; give 1 to 3"),
        ("wmt14/slurm/rows.sh", ("table9", "en-de"), {"SLURM_ARRAY_TASK_ID": "1"}, "table9 is not one of table1"),
        ("wmt14/slurm/rows.sh", ("figure2", "en-de"), {"SLURM_ARRAY_TASK_ID": "1"}, "figure2 needs no text"),
        ("wmt14/slurm/rows.sh", ("table2",), {"SLURM_ARRAY_TASK_ID": "1"}, "give en-de or en-fr"),
        ("wmt14/slurm/rows.sh", ("table2", "en-de"), {}, "with --array=1-N"),
        ("wmt14/slurm/rows.sh", ("table2", "en-de"), {"SLURM_SUBMIT_DIR": "/"}, "is not the root of the repository"),
        ("wmt14/slurm/train.sh", ("none",), {"SLURM_SUBMIT_DIR": "/"}, "is not the root of the repository"),
        ("wmt14/slurm/train.sh", ("none",), {"SLURM_SUBMIT_DIR": ""}, "submit this script with sbatch"),
        ("lm/slurm/systems.sh", ("lex-table2",), {"SLURM_ARRAY_TASK_ID": "5"}, "which has 4; give 1 to 4"),
        ("lm/slurm/systems.sh", ("lex-figure2",), {"SLURM_ARRAY_TASK_ID": "1"}, "needs no text and no system"),
        ("lm/slurm/systems.sh", ("table9",), {"SLURM_ARRAY_TASK_ID": "1"}, "table9 is not one of lex-figure1"),
        ("lm/slurm/systems.sh", (), {"SLURM_ARRAY_TASK_ID": "1"}, "give the name of a table or figure"),
        ("lm/slurm/systems.sh", ("lex-table2",), {"SLURM_SUBMIT_DIR": "/"}, "is not the root of the repository"),
        ("lm/slurm/train.sh", ("xpos", "base"), {"SLURM_SUBMIT_DIR": ""}, "submit this script with sbatch"),
    ],
)
def test_what_cannot_work_is_one_line(script, arguments, variables, message, slurm):
    result = slurm(ROOT / "examples" / script, *arguments, **variables)
    assert result.returncode != 0 and result.stderr.count("\n") == 1 and message in result.stderr
