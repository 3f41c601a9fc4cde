"""The start-up hook: active everywhere, cheap, idempotent, harmless, and switchable."""

import json
import sys

import pytest

from tests.support.commands import python, run, succeeded

PRINT_STATE = """
import json, sys
names = ("torch", "numpy", "fairseq", "fairseq_posenc", "fairseq_compat.registry")
heavy = [name for name in names if name in sys.modules]
finders = [finder for finder in sys.meta_path if getattr(finder, "__module__", "") == "fairseq_compat.boot"]
print(json.dumps({"heavy": heavy, "finders": len(finders)}))
"""


def state(code=PRINT_STATE, **variables):
    return json.loads(succeeded(python(code, **variables)).stdout)


def test_every_interpreter_has_the_finder_and_nothing_heavy():
    assert state() == {"heavy": [], "finders": 1}


def test_switched_off_by_the_environment():
    assert state(FAIRSEQ_COMPAT="0")["finders"] == 0


def test_installing_again_changes_nothing():
    again = "from fairseq_compat.boot import install; install(); install()\n"
    assert state(again + PRINT_STATE)["finders"] == 1


def test_torch_installs_it_where_pth_files_are_not_read():
    """``-S`` skips site-packages' .pth files; the entry point group torch.backends is left."""
    code = "import sys; sys.path[:0] = {!r}; assert 'fairseq_compat.boot' not in sys.modules; import torch\n"
    paths = [path for path in sys.path if path]
    result = run(sys.executable, "-S", "-c", code.format(paths) + PRINT_STATE)
    assert json.loads(succeeded(result).stdout)["finders"] == 1


def test_the_package_never_imports_the_plugin():
    code = "import sys, fairseq, fairseq_cli.train; assert 'fairseq_posenc' not in sys.modules"
    succeeded(python(code))


def test_import_of_other_modules_loads_no_patches():
    code = "import sys, numpy, omegaconf; assert 'fairseq_compat.patches' not in sys.modules"
    succeeded(python(code))


def test_modules_keep_their_own_loader_and_source():
    code = (
        "import inspect, fairseq.utils as u, importlib.machinery as m\n"
        "assert type(u.__loader__) is type(u.__spec__.loader) is m.SourceFileLoader\n"
        "assert 'def softmax' in inspect.getsource(u)"
    )
    succeeded(python(code))


def test_a_broken_patch_is_a_warning_and_the_import_goes_on():
    code = (
        "from fairseq_compat import registry, report\n"
        "import fairseq_compat.patches\n"
        "@registry.patch('broken', 'fairseq.utils', fault='none', since='now')\n"
        "def broken(module): module.no_such_name\n"
        "import fairseq\n"
        "print([p['state'] for p in report() if p['name'] == 'broken'][0])"
    )
    result = succeeded(python(code))
    assert "failed: AttributeError" in result.stdout
    assert "fairseq_compat: broken failed on fairseq.utils" in result.stderr


def test_a_broken_loader_is_a_warning_and_the_import_goes_on():
    code = "import sys; sys.modules['fairseq_compat.loader'] = None\nimport fairseq_cli"
    assert "fairseq_compat: no patches for fairseq_cli" in succeeded(python(code)).stderr


def test_no_fairseq_without_the_hook():
    if sys.version_info < (3, 11):
        pytest.skip("Python before 3.11 imports fairseq without help")
    result = python("import fairseq", FAIRSEQ_COMPAT="0")
    assert result.returncode != 0
    assert "mutable default" in result.stderr


def test_report_names_the_state_of_every_patch():
    code = (
        "import json, fairseq_compat\n"
        "before = {p['name']: p['state'] for p in fairseq_compat.report()}\n"
        "import fairseq\n"
        "after = {p['name']: p['state'] for p in fairseq_compat.report()}\n"
        "print(json.dumps([before, after]))"
    )
    before, after = json.loads(succeeded(python(code, FAIRSEQ_COMPAT_SKIP="ddp_on_cpu")).stdout)
    assert set(before.values()) == {"module not imported yet"}
    assert after["user_dir_by_name"] == "in force"
    assert after["ddp_on_cpu"] == "skipped"
    assert after["one_line_errors"] == "module not imported yet"
    assert after["hashable_config_defaults"] == ("in force" if sys.version_info >= (3, 11) else "not needed")


def test_a_spawned_process_is_patched_too():
    code = (
        "import multiprocessing, fairseq_probe\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.apply(fairseq_probe.version))"
    )
    probe = "def version():\n    import fairseq\n    return fairseq.__version__\n"
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "fairseq_probe.py").write_text(probe)
        Path(directory, "main.py").write_text(code)
        result = succeeded(run(sys.executable, "main.py", cwd=directory))
    assert result.stdout.strip().startswith("0.12")
