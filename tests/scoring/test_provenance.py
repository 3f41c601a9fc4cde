"""What is recorded beside a result, and how results are written."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_posenc import provenance
from fairseq_posenc.errors import InputError

PACKAGE = Path(provenance.__file__).parent


def test_provenance_is_json_and_names_versions():
    record = json.loads(json.dumps(provenance.provenance()))
    assert record["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert record["versions"]["sacrebleu"] and record["hardware"]["cores"] >= 1 and record["hardware"]["cpu"]
    assert record["date"].endswith("+00:00")


def copy_of_package(folder):
    (folder / "fairseq_posenc").mkdir(parents=True)
    for path in PACKAGE.glob("*.py"):
        (folder / "fairseq_posenc" / path.name).write_bytes(path.read_bytes())


def recorded_in(folder):
    code = "import json; from fairseq_posenc.provenance import provenance; print(json.dumps(provenance()))"
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=folder)
    return json.loads(done.stdout)


def git(folder, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(["git", "-C", str(folder), *identity, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_commit_is_that_of_the_package(tmp_path):
    copy_of_package(tmp_path)
    git(tmp_path, "init")
    (tmp_path / "other.txt").write_text("x")
    git(tmp_path, "add", "other.txt")
    git(tmp_path, "commit", "-m", "another project")
    record = recorded_in(tmp_path)
    assert (record["commit"], record["uncommitted_changes"]) == (None, None)

    git(tmp_path, "add", "fairseq_posenc")
    git(tmp_path, "commit", "-m", "the package")
    record = recorded_in(tmp_path)
    assert (record["commit"], record["uncommitted_changes"]) == (git(tmp_path, "rev-parse", "HEAD"), False)

    (tmp_path / "fairseq_posenc" / "new.py").write_text("")
    assert recorded_in(tmp_path)["uncommitted_changes"] is True


def test_a_module_of_python_m_is_in_the_command(tmp_path):
    (tmp_path / "recipes").mkdir()
    code = "from fairseq_posenc.provenance import provenance\nprint(provenance()['command'])\n"
    (tmp_path / "recipes" / "measure.py").write_text(code)
    command = ["-m", "recipes.measure", "--rounds", "3"]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == str(["python", *command])


def test_json_replaces_whole_files_only(tmp_path):
    target = tmp_path / "result.json"
    provenance.write_json(target, {"a": "é"})
    assert json.loads(target.read_text(encoding="utf-8")) == {"a": "é"}
    with pytest.raises(TypeError):
        provenance.write_json(target, {"a": object()})
    assert json.loads(target.read_text(encoding="utf-8")) == {"a": "é"}
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_failed_writing_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    def disk_is_full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = tmp_path / "result.json"
    target.write_text("kept")
    monkeypatch.setattr(os, "replace", disk_is_full)
    with pytest.raises(InputError, match=r"cannot write .*result\.json: No space left"):
        provenance.write_json(target, {})
    assert [path.read_text() for path in tmp_path.iterdir()] == ["kept"]


def test_json_of_a_file_name_that_is_not_utf8(tmp_path):
    name = os.fsdecode(b"caf\xe9.txt")
    provenance.write_json(tmp_path / "result.json", {"path": name})
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8")) == {"path": name}


def test_json_through_a_link_and_file_mode(tmp_path):
    target, link = tmp_path / "result.json", tmp_path / "latest.json"
    provenance.write_json(target, {})
    mask = os.umask(0)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~mask
    link.symlink_to(target)
    provenance.write_json(link, {"a": 1})
    assert link.is_symlink() and json.loads(target.read_text()) == {"a": 1}


@pytest.mark.parametrize(
    "name, message",
    [("", "not a regular file"), ("nowhere/result.json", "does not exist"), ("x" * 250, "longer than the 255 bytes")],
)
def test_impossible_targets(tmp_path, name, message):
    with pytest.raises(InputError, match=message):
        provenance.check_json_target(tmp_path / name)
