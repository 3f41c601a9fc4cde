"""Break hooks, masks, caches and protocols by one sign or index at a time; report what the fast tests do not notice.

    python scripts/mutants.py                        two mutants per function (hours on one core)
    python scripts/mutants.py --per-function 1 --only encodings/rope,attention/masks
    python scripts/mutants.py --list                 the mutants, none of which is run

A mutant is a copy of the package with one operator or number changed: + and -, * and /, < and <=, > and >=, == and !=,
a sign, or an index or the end of a range by one. Its tests run in a fork of one process, first those that name the
encoding. Mutants that change nothing are in equivalent_mutants.tsv, each with its reason. Ends with status 1 if a
mutant was not noticed.
"""

import argparse
import ast
import csv
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "fairseq_posenc"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.tsv")

INVARIANTS = ["tests/models/test_invariants.py", "tests/models/test_language_model_invariants.py"]
OF_ATTENTION = ["tests/attention", "tests/encodings", *INVARIANTS, "tests/models/test_positions.py", "tests/generation"]
#: Modules that are broken -> the tests that should notice.
SUBJECTS = {
    "encodings/*.py": ["tests/encodings", *INVARIANTS, "tests/attention", "tests/models/test_positions.py"],
    "attention/*.py": OF_ATTENTION,
    "generation/*.py": ["tests/generation"],
    "criterions/*.py": ["tests/criterions"],
    "optim/*.py": ["tests/optim"],
    "analysis/extrapolation*.py": ["tests/analysis"],
    "analysis/resolution.py": ["tests/analysis"],
    "analysis/receptive_field.py": ["tests/analysis"],
    "analysis/by_distance.py": ["tests/analysis"],
}
OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
#: Calls whose numbers are ends of ranges.
RANGES = {"range", "arange", "narrow", "tril", "triu", "pad", "diagonal"}


@dataclass(frozen=True)
class Mutant:
    """One change: in a module (its path in the package), the code [start, stop) of its text becomes ``new``."""

    module: str
    function: str
    line: int
    start: int
    stop: int
    new: str
    shown: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What names it in the list of equivalent mutants, also after lines have moved."""
        return self.module, self.function, self.shown


class Finder(ast.NodeVisitor):
    """Finds all mutants of a module."""

    def __init__(self, module: str, text: str) -> None:
        self.module, self.text = module, text
        self.found: list[Mutant] = []
        self._functions: list[str] = []
        lines = text.encode().splitlines(keepends=True)
        self._starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._functions.append(node.name)
        for statement in node.body:  # neither defaults nor annotations
            self.visit(statement)
        self._functions.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._functions.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._functions.pop()

    def skip(self, node: ast.AST) -> None:
        """What only messages, types and checks have."""

    visit_Raise = visit_JoinedStr = visit_AnnAssign = visit_Assert = visit_Import = visit_ImportFrom = skip

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in OPERATORS and not _is_text(node):
            self._between(node.left, node.right, OPERATORS[type(node.op)])
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in OPERATORS:
            self._between(node.target, node.value, OPERATORS[type(node.op)] + "=")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            self._between(node.left, node.comparators[0], COMPARISONS[type(node.ops[0])])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            start = self._place(node)
            self._add(node, start, start + 1, "")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        for part in ast.walk(node.slice):
            self._number(part)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        for argument in node.args if name in RANGES else []:
            self._number(argument)
        self.generic_visit(node)

    def _number(self, node: ast.AST) -> None:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            start, stop = self._place(node), self._place(node, end=True)
            self._add(node, start, stop, str(node.value + 1))

    def _between(self, left: ast.expr, right: ast.expr, new: str) -> None:
        start, stop = self._place(left, end=True), self._place(right)
        between = self.text.encode()[start:stop].decode()
        operator = between.strip(" ()\n")
        if operator in ("+", "-", "*", "/", "+=", "-=", "*=", "/=", "<", "<=", ">", ">=", "==", "!="):
            start += between.index(operator)
            self._add(left, start, start + len(operator), new)

    def _place(self, node: ast.AST, end: bool = False) -> int:
        line, column = (node.end_lineno, node.end_col_offset) if end else (node.lineno, node.col_offset)
        return self._starts[line - 1] + column

    def _add(self, node: ast.AST, start: int, stop: int, new: str) -> None:
        if not self._functions:
            return
        code, line = self.text.encode(), node.lineno
        first, last = code.rfind(b"\n", 0, start) + 1, code.find(b"\n", stop)
        shown = (code[first:start] + b"[" + code[start:stop] + b" -> " + new.encode() + b"]" + code[stop:last]).decode()
        self.found.append(Mutant(self.module, ".".join(self._functions), line, start, stop, new, shown.strip()))


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node))


def spaced(items: list, most: int) -> list:
    """At most so many of them, evenly spaced."""
    return items if len(items) <= most else [items[place * len(items) // most] for place in range(most)]


def mutants(per_function: int, only: list[str]) -> Iterator[tuple[Mutant, list[str]]]:
    """All mutants that are to be run, with their tests."""
    equivalent = equivalents()
    for pattern, tests in SUBJECTS.items():
        for path in sorted((ROOT / PACKAGE).glob(pattern)):
            module = path.relative_to(ROOT / PACKAGE).as_posix()
            if only and not any(name in module for name in only):
                continue
            finder = Finder(module, path.read_text(encoding="utf-8"))
            finder.visit(ast.parse(finder.text))
            by_function: dict[str, list[Mutant]] = {}
            for mutant in finder.found:
                if mutant.key not in equivalent:
                    by_function.setdefault(mutant.function, []).append(mutant)
            for found in by_function.values():
                yield from ((mutant, tests) for mutant in spaced(found, per_function))


def equivalents() -> set[tuple[str, str, str]]:
    with EQUIVALENT.open(encoding="utf-8", newline="") as lines:
        return {(row["module"], row["function"], row["change"]) for row in csv.DictReader(lines, delimiter="\t")}


def noticed(mutant: Mutant, tests: list[str], tree: Path) -> bool:
    """Whether a test fails. ``tree``: a copy of the repository, which is as before afterwards."""
    path = tree / PACKAGE / mutant.module
    before = path.read_bytes()
    path.write_bytes(before[: mutant.start] + mutant.new.encode() + before[mutant.stop :])
    name = Path(mutant.module).stem.split("_")[0]
    try:
        return any(fails([*tests, *words], tree) for words in (["-k", name], []))
    finally:
        path.write_bytes(before)


def fails(words: list[str], tree: Path) -> bool:
    """Whether pytest with these arguments ends with failures; in a fork, which has PyTorch imported."""
    child = os.fork()
    if child == 0:
        status = 3
        try:
            import pytest

            os.chdir(tree)
            os.environ["PYTHONPATH"] = str(tree)
            sys.path.insert(0, str(tree))
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1), os.dup2(silent, 2)
            status = int(pytest.main(["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", *words]))
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    # 5: no test has the name of the module.
    return os.waitstatus_to_exitcode(status) not in (0, 5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per-function", type=int, default=2, metavar="N", help="mutants per function (default: 2)")
    parser.add_argument("--only", default="", metavar="PART,PART", help="modules whose path has one of these parts")
    parser.add_argument("--list", action="store_true", help="print the mutants and run none")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was not noticed")
    args = parser.parse_args()
    chosen = list(mutants(args.per_function, [part for part in args.only.split(",") if part]))
    if args.list:
        for mutant, _ in chosen:
            print(f"{mutant.module}:{mutant.line}\t{mutant.function}\t{mutant.shown}")
        return 0

    import fairseq.models  # noqa: F401 (the forks have them)
    import hypothesis  # noqa: F401
    import pytest  # noqa: F401
    from tqdm import tqdm

    missed = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", "work", "__pycache__", "results"))
        for mutant, tests in tqdm(chosen, desc="mutants", file=sys.stderr):
            if not noticed(mutant, tests, tree):
                missed.append(mutant)
                print(f"not noticed: {mutant.module}:{mutant.line}\t{mutant.function}\t{mutant.shown}", flush=True)
    print(f"{len(chosen) - len(missed)} of {len(chosen)} mutants noticed")
    if args.json:
        record = [{"module": one.module, "function": one.function, "change": one.shown} for one in missed]
        args.json.write_text(json.dumps({"mutants": len(chosen), "not_noticed": record}, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
