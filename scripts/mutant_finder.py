"""The mutants of the package: one operator, sign or index changed in one place of a function."""

import ast
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "fairseq_posenc"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.tsv")

#: Modules that are broken.
MODULES = (
    *("encodings/*.py", "attention/*.py", "generation/*.py", "criterions/*.py", "optim/*.py"),
    *("analysis/extrapolation*.py", "analysis/resolution.py", "analysis/receptive_field.py", "analysis/by_distance.py"),
)
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

    def __str__(self) -> str:
        return f"{self.module}:{self.line}\t{self.function}\t{self.shown}"


class Finder(ast.NodeVisitor):
    """Finds all mutants of a module."""

    def __init__(self, module: str, text: str) -> None:
        self.module, self.text = module, text
        self.found: list[Mutant] = []
        self._names: list[str] = []
        self._depth = 0  # of functions
        lines = text.encode().splitlines(keepends=True)
        self._starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._depth += 1
        self.visit_ClassDef(node)  # neither defaults nor annotations
        self._depth -= 1

    def visit_ClassDef(self, node: ast.ClassDef | ast.FunctionDef) -> None:
        self._names.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._names.pop()

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
        # The kinds of a device differ in speed and memory alone; scripts/gpu_check.sh compares their numbers.
        of_device = isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value in ("cpu", "cuda")
        if len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS and not of_device:
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
        if not self._depth:
            return
        code, line = self.text.encode(), node.lineno
        first, last = code.rfind(b"\n", 0, start) + 1, code.find(b"\n", stop)
        shown = (code[first:start] + b"[" + code[start:stop] + b" -> " + new.encode() + b"]" + code[stop:last]).decode()
        self.found.append(Mutant(self.module, ".".join(self._names), line, start, stop, new, shown.strip()))


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node))


def spaced(items: list, most: int) -> list:
    """At most so many of them, evenly spaced."""
    return items if len(items) <= most else [items[place * len(items) // most] for place in range(most)]


def mutants(root: Path, per_function: int, only: list[str]) -> Iterator[Mutant]:
    """All mutants that are to be run."""
    equivalent = equivalents()
    for path in [path for pattern in MODULES for path in sorted((root / PACKAGE).glob(pattern))]:
        module = path.relative_to(root / PACKAGE).as_posix()
        if only and not any(name in module for name in only):
            continue
        finder = Finder(module, path.read_text(encoding="utf-8"))
        finder.visit(ast.parse(finder.text))
        by_function: dict[str, list[Mutant]] = {}
        for mutant in finder.found:
            if mutant.key not in equivalent:
                by_function.setdefault(mutant.function, []).append(mutant)
        for found in by_function.values():
            yield from spaced(found, per_function)


def equivalents() -> set[tuple[str, str, str]]:
    with EQUIVALENT.open(encoding="utf-8", newline="") as lines:
        return {(row["module"], row["function"], row["change"]) for row in csv.DictReader(lines, delimiter="\t")}
