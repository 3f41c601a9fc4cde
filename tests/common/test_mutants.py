"""scripts/mutants.py: what it changes, and that it tells a change that tests notice from one that they do not."""

import ast
import json
import runpy
import sys

from tests.support.commands import run
from tests.support.recipes import ROOT

FINDER = runpy.run_path(str(ROOT / "scripts" / "mutant_finder.py"))
MODULE = """
def double(x):
    half = x / 2
    return x + x


def count(end):
    place = 0
    while place < end:
        place = place + 1
    return place


def unused(x):
    return -x
"""
TEST = """
from fairseq_posenc.encodings import module


def test_double():
    assert module.double(2) == 4


def test_count():
    assert module.count(3) == 3
"""
SOURCE = '''
"""A module."""
LIMIT = 3 + 4
class Constants:
    LIMIT = 3 + 4


def scores(q, k, length=2 - 1):
    """Not 1 + 1."""
    if length < 1:
        raise ValueError(f"{length - 1} is too short")
    for place in range(1, length):
        k = -k[0] * place
    return "a" + "b", (q + k) / 2
'''


def found_in(source, module="module.py"):
    finder = FINDER["Finder"](module, source)
    finder.visit(ast.parse(source))
    return finder.found


def test_it_changes_operators_signs_and_indices_but_no_text():
    assert [mutant.shown for mutant in found_in(SOURCE)] == [
        "if length [< -> <=] 1:",
        "for place in range([1 -> 2], length):",
        "k = -k[0] [* -> /] place",
        "k = [- -> ]k[0] * place",
        "k = -k[[0 -> 1]] * place",
        'return "a" + "b", (q + k) [/ -> *] 2',
        'return "a" + "b", (q [+ -> -] k) / 2',
    ]


def test_there_are_enough_mutants_and_all_equivalent_ones_exist():
    every = list(FINDER["mutants"](ROOT, per_function=999, only=[]))
    assert len(every) >= 500
    equivalent = FINDER["equivalents"]()
    assert not equivalent & {mutant.key for mutant in every}
    for module in {module for module, _, _ in equivalent}:
        source = (ROOT / "fairseq_posenc" / module).read_text()
        assert {key for key in equivalent if key[0] == module} <= {mutant.key for mutant in found_in(source, module)}


def test_tests_notice_a_mutant_or_not(tmp_path):
    """Also one that does not end, after the time that its tests may take."""
    for folder in ("fairseq_posenc/encodings", "tests/encodings"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "fairseq_posenc" / "__init__.py").touch()
    (tmp_path / "fairseq_posenc" / "encodings" / "__init__.py").touch()
    module = tmp_path / "fairseq_posenc" / "encodings" / "module.py"
    module.write_text(MODULE)
    (tmp_path / "tests" / "encodings" / "test_module.py").write_text(TEST)
    script = ROOT / "scripts" / "mutants.py"
    words = ("--root", tmp_path, "--json", tmp_path / "out.json", "--limit", "2", "--per-function", "9")
    done = run(sys.executable, script, *words, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1 and "3 of 5 mutants noticed" in done.stdout, done.stdout + done.stderr
    missed = [line["change"] for line in json.loads((tmp_path / "out.json").read_text())["not_noticed"]]
    assert missed == ["half = x [/ -> *] 2", "return [- -> ]x"]
    assert module.read_text() == MODULE
