"""Break hooks, masks, caches and protocols by one sign or index at a time; report what the fast tests do not notice.

    python scripts/mutants.py                        one mutant per function (half an hour on two cores)
    python scripts/mutants.py --per-function 9 --only encodings/rope,attention/masks
    python scripts/mutants.py --list                 the mutants, none of which is run

A mutant is a function with one operator or number changed: + and -, * and /, < and <=, > and >=, == and !=, a sign,
or an index or the end of a range by one. First all tests run once, to see which of them reach which line. Each mutant
is then made in a fork of this process, by giving the function other code, and meets the tests that reach its line: the
quick ones first, until one fails. Mutants that change nothing are in equivalent_mutants.tsv, each with its reason.
Ends with status 1 if a mutant was not noticed.
"""

import argparse
import gc
import json
import os
import pickle
import signal
import sys
import time
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from mutant_finder import PACKAGE, Mutant, mutants

OF_MODELS = (
    *("invariants", "language_model_invariants", "positions", "checkpoint_activations", "retained_dropout"),
    *("options", "language_model", "any_flags"),
)
#: The tests that should notice.
TESTS = (
    *("tests/encodings", "tests/attention", "tests/generation", "tests/criterions", "tests/optim", "tests/analysis"),
    *(f"tests/models/test_{name}.py" for name in OF_MODELS),
)


def apply(mutant: Mutant, root: Path) -> None:
    """Give the functions of the module, wherever they are in this process, the code of the mutant."""
    path = root / PACKAGE / mutant.module
    before = path.read_bytes()
    changed = before[: mutant.start] + mutant.new.encode() + before[mutant.stop :]
    codes: dict[tuple[str, int], list[types.CodeType]] = defaultdict(list)

    def collect(code: types.CodeType) -> None:
        codes[code.co_name, code.co_firstlineno].append(code)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                collect(constant)

    collect(compile(changed, str(path), "exec"))
    for function in gc.get_objects():
        if isinstance(function, types.FunctionType) and Path(function.__code__.co_filename) == path:
            found = codes[function.__code__.co_name, function.__code__.co_firstlineno]
            if len(found) == 1:  # not one of several lambdas in a line
                function.__code__ = found[0]


@dataclass
class Reach:
    """What the tests reach: the tests of each (module, line), and the seconds that each test takes."""

    tests: dict[tuple[str, int], set[str]]
    seconds: dict[str, float]

    def chosen(self, mutant: Mutant, seconds: float) -> list[str]:
        """The tests for a mutant, as far as the seconds go.

        First come those that have the name of the module or of its package, then the quickest of each test function.
        """
        by_function = defaultdict(list)
        reaching = self.tests.get((mutant.module, mutant.line), set())
        for test in sorted(reaching, key=lambda test: (self.seconds[test], test)):
            by_function[test.split("[")[0]].append(test)
        turns = [(turn, self.seconds[test], test) for found in by_function.values() for turn, test in enumerate(found)]
        package, module = Path(mutant.module).parent.name, Path(mutant.module).stem.split("_")[0]
        chosen, total = [], 0.0
        for _, needed, test in sorted(turns, key=lambda each: (module not in each[2], package not in each[2], *each)):
            if not chosen or total + needed <= seconds:
                chosen.append(test)
                total += needed
        return chosen


class Plugin:
    """Runs the mutants in place of the collected tests."""

    def __init__(self, root: Path, chosen: list[Mutant], args: argparse.Namespace) -> None:
        self.root, self.mutants, self.args = root, chosen, args
        self.missed: list[Mutant] = []
        self._failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        from tqdm import tqdm

        reach = self._reach(session)
        running: dict[int, Mutant] = {}
        waiting = list(reversed(self.mutants))
        with tqdm(total=len(self.mutants), desc="mutants", file=sys.stderr) as progress:
            while waiting or running:
                if waiting and len(running) < self.args.jobs:
                    mutant = waiting.pop()
                    running[self._fork(partial(self._noticed, session, mutant, reach))] = mutant
                    continue
                child, status = os.wait()
                progress.update()
                mutant = running.pop(child)
                if os.waitstatus_to_exitcode(status) == 0:
                    self.missed.append(mutant)
                    print(f"not noticed: {mutant}", flush=True)
        return True

    @staticmethod
    def _fork(work: Callable[[], int]) -> int:
        """Run ``work`` in a silent fork, which ends with its result; return the process."""
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            status = 3
            try:
                silent = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silent, 1), os.dup2(silent, 2)
                status = work()
            finally:
                os._exit(status)
        return child

    def _run(self, items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, float]]:
        for item, following in zip(items, [*items[1:], None]):
            begun = time.monotonic()
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            yield item, time.monotonic() - begun

    def _noticed(self, session: pytest.Session, mutant: Mutant, reach: Reach) -> int:
        """1 if a test fails or they do not end; 0 otherwise."""
        items = {item.nodeid: item for item in session.items}
        tests = reach.chosen(mutant, self.args.seconds)
        # Without Python's handler it also ends a loop in C.
        signal.alarm(int(self.args.limit + 10 * sum(reach.seconds[test] for test in tests)))
        apply(mutant, self.root)
        return int(any(self._failed for _ in self._run([items[test] for test in tests if test in items])))

    def _reach(self, session: pytest.Session) -> Reach:
        """Run the tests once, a share of the files in each of several forks; those of ``--reach`` are known already."""
        kept = self.args.reach
        reach = pickle.loads(kept.read_bytes()) if kept and kept.exists() else Reach(defaultdict(set), {})
        items = [item for item in session.items if item.nodeid not in reach.seconds]
        files = sorted({item.path for item in items})
        parts = [self.root / f".mutants-{os.getpid()}-{job}" for job in range(min(self.args.jobs, len(files)))]
        for job, part in enumerate(parts):
            own = set(files[job :: len(parts)])
            self._fork(partial(self._measure, [item for item in items if item.path in own], part))
        failed = [status for _, status in [os.wait() for _ in parts] if status]
        found: list[Reach] = [pickle.loads(part.read_bytes()) for part in parts if part.exists()]
        for part in parts:
            part.unlink(missing_ok=True)
        if failed:
            pytest.exit("the tests fail without any mutant", returncode=2)
        for part in found:
            reach.seconds.update(part.seconds)
            for line, tests in part.tests.items():
                reach.tests[line] |= tests
        if kept:
            kept.write_bytes(pickle.dumps(reach))
        return reach

    def _measure(self, items: list[pytest.Item], output: Path) -> int:
        """Write what these tests reach; 1 if one fails."""
        import coverage

        package = self.root / PACKAGE
        measured = coverage.Coverage(data_file=None, config_file=False, include=[f"{package}/*"])
        measured.start()
        reach = Reach(defaultdict(set), {})
        measured.switch_context(items[0].nodeid if items else "")
        for place, (item, seconds) in enumerate(self._run(items)):
            reach.seconds[item.nodeid] = seconds
            if place + 1 < len(items):
                measured.switch_context(items[place + 1].nodeid)
        measured.stop()
        data = measured.get_data()
        for path in data.measured_files():
            module = Path(path).relative_to(package).as_posix()
            for line, tests in data.contexts_by_lineno(path).items():
                reach.tests[module, line] |= {test for test in tests if test}
        output.write_bytes(pickle.dumps(reach))
        return int(self._failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--per-function", type=int, default=1, metavar="N", help="mutants per function (default: 1)")
    add("--only", default="", metavar="PART,PART", help="modules whose path has one of these parts")
    add("--again", type=Path, metavar="FILE", help="only those that were not noticed, as a --json of before names them")
    add("--list", action="store_true", help="print the mutants and run none")
    add("--json", type=Path, metavar="FILE", help="write what was not noticed")
    add("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes (default: one per core)")
    add("--seconds", type=float, default=120, metavar="N", help="of tests per mutant (default: 120)")
    add("--limit", type=int, default=120, metavar="N", help="more seconds than tests should take (default: 120)")
    add(
        "--reach",
        type=Path,
        metavar="FILE",
        help="keep which tests reach which line, for the next run; remove it when the code changes",
    )
    add("--root", type=Path, default=Path(__file__).parents[1], help="the repository (default: this one)")
    args = parser.parse_args()
    root = args.root.resolve()
    chosen = list(mutants(root, args.per_function, [part for part in args.only.split(",") if part]))
    if args.again:
        before = {tuple(one.values()) for one in json.loads(args.again.read_text())["not_noticed"]}
        every = mutants(root, sys.maxsize, [])
        chosen = [mutant for mutant in every if mutant.key in before]
    if args.list:
        print("\n".join(map(str, chosen)))
        return 0

    os.environ["OMP_NUM_THREADS"] = "1"
    os.chdir(root)
    sys.path.insert(0, str(root))
    from hypothesis import Phase, settings

    # The first failure is enough, and none is kept for the next run.
    settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate], database=None)
    settings.load_profile("mutants")
    plugin = Plugin(root, chosen, args)
    tests = [test for test in TESTS if (root / test).exists()]
    without = [word for name in ("terminal", "cacheprovider", "xdist") for word in ("-p", f"no:{name}")]
    status = pytest.main(["-o", "addopts=", "-m", "not slow", *without, *tests], plugins=[plugin])
    if status:
        sys.exit(f"mutants.py: error: the tests cannot be run (pytest's status {int(status)}); try scripts/test.sh")
    print(f"{len(chosen) - len(plugin.missed)} of {len(chosen)} mutants noticed")
    if args.json:
        record = [{"module": one.module, "function": one.function, "change": one.shown} for one in plugin.missed]
        args.json.write_text(json.dumps({"mutants": len(chosen), "not_noticed": record}, indent=1) + "\n")
    return 1 if plugin.missed else 0


if __name__ == "__main__":
    sys.exit(main())
