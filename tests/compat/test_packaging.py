"""Every kind of distribution carries the start-up files, and records them so that uninstalling removes them."""

import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.commands import python, run, succeeded

ROOT = Path(__file__).resolve().parents[2]
STARTUP = ("fairseq_compat.pth", "fairseq_compat.start")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of what setup.py needs, so that building leaves nothing in the checkout."""
    copy = tmp_path_factory.mktemp("sources")
    for name in ("setup.py", "pyproject.toml", "README.md"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, copy)
    for name in ("fairseq_posenc", "fairseq_compat"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "tests").mkdir()
    (copy / "tests" / "__init__.py").write_text("")
    return copy


def build(kind, sources, output):
    code = f"import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
    succeeded(python(code, output, cwd=sources))
    (built,) = output.iterdir()
    return built


def names_and_record(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (record,) = [name for name in names if name.endswith(".dist-info/RECORD")]
        return names, archive.read(record).decode()


def check_wheel(wheel):
    names, record = names_and_record(wheel)
    for name in STARTUP:
        assert names.count(name) == 1
        assert record.count(f"{name},sha256=") == 1
    return names


def test_wheel(sources, tmp_path):
    names = check_wheel(build("wheel", sources, tmp_path))
    assert "fairseq_compat/patches/encoder.py" in names
    assert "fairseq_posenc/errors.py" in names
    assert not [name for name in names if name.startswith("tests")]


def test_editable_wheel(sources, tmp_path):
    check_wheel(build("editable", sources, tmp_path))


def test_source_distribution_builds_the_same_wheel(sources, tmp_path):
    (tmp_path / "sdist").mkdir()
    (tmp_path / "wheel").mkdir()
    with tarfile.open(build("sdist", sources, tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path)
    (unpacked,) = tmp_path.glob("fairseq*posenc-*")
    check_wheel(build("wheel", unpacked, tmp_path / "wheel"))


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_install_is_active_and_uninstall_leaves_nothing(kind, sources, tmp_path):
    """In an environment of its own, without the dependencies: the hook needs none."""
    (tmp_path / "built").mkdir()
    wheel = build(kind, sources, tmp_path / "built")
    succeeded(run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"))
    interpreter = tmp_path / "venv" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", interpreter)
    succeeded(run(*pip, "install", "--no-deps", "--no-index", wheel))
    active = "import sys; sys.exit('fairseq_compat.boot' not in sys.modules)"
    succeeded(run(interpreter, "-c", active, cwd="/"))
    succeeded(run(*pip, "uninstall", "-y", "fairseq-posenc"))
    left = [path for path in (tmp_path / "venv").rglob("*") if "fairseq" in path.name]
    assert left == []
    assert run(interpreter, "-c", active, cwd="/").returncode == 1


def test_requirements_leave_fairseq_out():
    """pip cannot resolve fairseq's own requirements; setup.sh installs it without them."""
    from importlib.metadata import requires

    names = [requirement.split(">")[0].split(";")[0].strip() for requirement in requires("fairseq-posenc")]
    assert "torch" in names
    assert "fairseq" not in names
