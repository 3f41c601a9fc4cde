"""scripts/mutants.py: what it changes, and that it tells a change that tests notice from one that they do not."""

import ast
import runpy

from tests.support.recipes import ROOT

MUTANTS = runpy.run_path(str(ROOT / "scripts" / "mutants.py"), run_name="mutants")
TEST = """
import runpy


def test_double():
    assert runpy.run_path("fairseq_posenc/module.py")["double"](2) == 4
"""
SOURCE = '''
"""A module."""
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
    finder = MUTANTS["Finder"](module, source)
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
    every = [mutant for mutant, _ in MUTANTS["mutants"](per_function=999, only=[])]
    assert len(every) >= 500
    equivalent = MUTANTS["equivalents"]()
    assert not equivalent & {mutant.key for mutant in every}
    for module in {module for module, _, _ in equivalent}:
        source = (ROOT / "fairseq_posenc" / module).read_text()
        assert {key for key in equivalent if key[0] == module} <= {mutant.key for mutant in found_in(source, module)}


def test_tests_notice_a_mutant_or_not(tmp_path):
    (tmp_path / "fairseq_posenc").mkdir()
    module = tmp_path / "fairseq_posenc" / "module.py"
    module.write_text("def double(x):\n    half = x / 2\n    return x + x\n")
    test = tmp_path / "test_module.py"
    test.write_text(TEST)
    before = module.read_text()
    noticed = {mutant.shown: MUTANTS["noticed"](mutant, ["test_module.py"], tmp_path) for mutant in found_in(before)}
    assert noticed == {"half = x [/ -> *] 2": False, "return x [+ -> -] x": True}
    assert module.read_text() == before
