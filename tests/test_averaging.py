"""Averages of checkpoints: the mean, ties, which files are taken, what is refused."""

import os
import subprocess
import sys

import pytest
import torch

from fairseq_posenc.averaging import EPOCH_FILE, UPDATE_FILE, average_checkpoints, last_checkpoints
from fairseq_posenc.cli import main
from fairseq_posenc.errors import InputError


def save(path, value, **more):
    weight = torch.full((2, 3), float(value))
    model = {"embed.weight": weight, "output.weight": weight, "steps": torch.tensor(7), **more}
    torch.save({"model": model, "cfg": None, "last_optimizer_state": {"large": 1}, "number": value}, path)
    return path


def test_mean_of_all(tmp_path):
    paths = [save(tmp_path / f"{value}.pt", value) for value in (1, 2, 6)]
    average = average_checkpoints(paths)
    assert average["model"]["embed.weight"].tolist() == [[3.0] * 3] * 2
    assert average["model"]["embed.weight"].dtype == torch.float32
    assert average["model"]["steps"].item() == 7 and average["model"]["steps"].dtype == torch.int64
    assert average["number"] == 6 and average["last_optimizer_state"] is None


def test_ties_stay(tmp_path):
    model = average_checkpoints([save(tmp_path / f"{value}.pt", value) for value in (1, 2)])["model"]
    assert model["embed.weight"].data_ptr() == model["output.weight"].data_ptr()


def test_one_of_equal_values_is_not_a_tie(tmp_path):
    """Separate tensors stay separate, whatever they hold."""
    for value in (1, 2):
        save(tmp_path / f"{value}.pt", value, other=torch.full((2, 3), float(value)))
    model = average_checkpoints([tmp_path / "1.pt", tmp_path / "2.pt"])["model"]
    assert model["other"].data_ptr() != model["embed.weight"].data_ptr()


def test_last_checkpoints_by_number(tmp_path):
    names = ["checkpoint2.pt", "checkpoint10.pt", "checkpoint_1_900.pt", "checkpoint_2_1000.pt", "checkpoint_best.pt"]
    for name in names:
        (tmp_path / name).touch()
    found = [path.name for path in last_checkpoints(tmp_path, EPOCH_FILE, 2)]
    assert found == ["checkpoint2.pt", "checkpoint10.pt"]
    assert [p.name for p in last_checkpoints(tmp_path, UPDATE_FILE, 1, upper_bound=950)] == ["checkpoint_1_900.pt"]
    with pytest.raises(InputError, match="has only 2 of the requested 3 checkpoints"):
        last_checkpoints(tmp_path, EPOCH_FILE, 3)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--inputs", "{folder}/none.pt"], "none.pt: no such file"),
        (["--inputs", "{folder}/1.pt", "{folder}/cut.pt"], "cut.pt cannot be read"),
        (["--inputs", "{folder}/text.pt"], "text.pt cannot be read as a checkpoint"),
        (["--inputs", "{folder}/empty.pt"], "empty.pt cannot be read as a checkpoint ("),
        (["--inputs", "{folder}/words.pt"], "words.pt is not a fairseq checkpoint: it holds no model"),
        (["--inputs", "{folder}/sparse.pt"], "sparse.pt is not a fairseq checkpoint: it holds no model"),
        (["--inputs", "{folder}/nan.pt"], "nan.pt: 1 of the 2 numbers of the parameter bias are NaN or infinite"),
        (["--inputs", "{folder}/1.pt", "--output", "x" * 250], "the name is longer than the 255 bytes of a file name"),
        (["--inputs", "{folder}/1.pt", "{folder}/other.pt"], "other.pt has other parameters than"),
        (["--inputs", "{folder}", "--num-epoch-checkpoints", "0"], "at least 1, but is 0"),
        (["--inputs", "{folder}/1.pt", "--num-epoch-checkpoints", "2"], "takes one folder"),
        (["--inputs", "{folder}/1.pt", "--checkpoint-upper-bound", "2"], "goes with"),
    ],
)
def test_bad_input_is_one_line_and_keeps_the_output(words, message, tmp_path, capsys):
    whole = save(tmp_path / "1.pt", 1)
    (tmp_path / "cut.pt").write_bytes(whole.read_bytes()[:500])
    save(tmp_path / "other.pt", 2, bias=torch.zeros(2))
    save(tmp_path / "nan.pt", 2, bias=torch.tensor([1.0, float("nan")]))
    save(tmp_path / "sparse.pt", 2, bias=torch.ones(2).to_sparse())
    torch.save({"model": {"bias": "words"}}, tmp_path / "words.pt")
    (tmp_path / "text.pt").write_text("a b c d e\n")
    (tmp_path / "empty.pt").touch()
    output = tmp_path / "average.pt"
    output.write_text("an earlier average")
    assert main(["average", "--output", str(output), *(word.format(folder=tmp_path) for word in words)]) == 2
    error = capsys.readouterr().err
    assert message in error and "\n" not in error.strip().split("error: ")[1]
    assert output.read_text() == "an earlier average"


def test_a_full_disk_leaves_the_output_as_it_was(tmp_path):
    """Here files may have 1,000 bytes only, which the system tells as it tells a full disk."""
    path, output = save(tmp_path / "1.pt", 1), tmp_path / "average.pt"
    output.write_text("an earlier average")
    code = (
        "import resource, sys\n"
        "from fairseq_posenc.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "sys.exit(main(['average', '--inputs', sys.argv[1], '--output', sys.argv[2]]))"
    )
    done = subprocess.run([sys.executable, "-c", code, path, output], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert f"error: cannot write --output {output}: File too large; free some space" in done.stderr
    assert "Traceback" not in done.stderr
    assert output.read_text() == "an earlier average" and sorted(tmp_path.iterdir()) == [path, output]


def test_what_is_no_ordinary_file_is_no_output(tmp_path, capsys):
    """A device such as /dev/full would be replaced by a file; a pipe stands for it here."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for output in (tmp_path / "pipe", tmp_path / "folder"):
        assert main(["average", "--inputs", str(save(tmp_path / "1.pt", 1)), "--output", str(output)]) == 2
        assert f"--output {output}: {output.name} is not a regular file" in capsys.readouterr().err
    assert (tmp_path / "pipe").is_fifo()
