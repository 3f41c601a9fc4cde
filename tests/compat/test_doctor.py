"""fairseq-posenc doctor: a sound installation has nothing missing; each fault is named with its cure."""

import json
import sys

import fairseq_compat
from tests.support.commands import BIN, python, run, succeeded


def doctor(*options, **variables):
    return run(BIN / "fairseq-posenc", "doctor", *options, **variables)


def test_a_sound_installation():
    findings = json.loads(succeeded(doctor("--json")).stdout)
    assert findings["missing"] == []
    assert findings["hook_active"] and findings["plugin_loads"] and all(findings["compiled"].values())
    assert {patch["name"] for patch in findings["patches"]} == {patch["name"] for patch in fairseq_compat.report()}
    assert "module not imported yet" not in {patch["state"] for patch in findings["patches"]}


def test_parts_that_few_need_are_listed_and_not_missing():
    """The parts of non-autoregressive models and of BASE layers, which fairseq's source release leaves out."""
    hide = "import sys; sys.modules.update({'fairseq.libnat': None, 'fairseq.libbase': None})\n"
    code = hide + "from fairseq_posenc.cli import main; sys.exit(main(['doctor']))"
    lines = succeeded(python(code)).stdout.splitlines()
    (libnat,) = [line for line in lines if line.startswith("  fairseq.libnat")]
    (libbase,) = [line for line in lines if line.startswith("  fairseq.libbase")]
    assert "not built (for insertion and Levenshtein Transformers: python scripts/build_extensions.py)" in libnat
    assert "not built (for BASE layers; no release of fairseq contains its source" in libbase
    assert lines[-1] == "Nothing is missing."


def test_the_hook_switched_off_is_the_one_cause_named_first():
    result = doctor("--quiet", FAIRSEQ_COMPAT="0")
    if sys.version_info >= (3, 11):
        assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "missing: start-up hook: FAIRSEQ_COMPAT=0"
    assert lines[1].strip() == "cure: unset FAIRSEQ_COMPAT"
    assert "libbleu" not in result.stdout


def test_a_missing_package_is_named_with_its_cure():
    """Hide the metadata of one distribution, as if it had never been installed."""
    code = (
        "import importlib.metadata as m, sys\n"
        "version = m.version\n"
        "def hidden(name):\n"
        "    if name == 'sacremoses': raise m.PackageNotFoundError(name)\n"
        "    return version(name)\n"
        "m.version = hidden\n"
        "from fairseq_posenc.cli import main\n"
        "sys.exit(main(['doctor', '--quiet']))"
    )
    result = python(code)
    assert result.returncode == 1
    assert result.stdout.splitlines() == ["missing: sacremoses: not installed", "    cure: pip install sacremoses"]
