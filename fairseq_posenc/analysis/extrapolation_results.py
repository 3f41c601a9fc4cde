"""The file of an extrapolation: finished cells, what they belong to, and the table that they make."""

import json
import statistics
from collections import defaultdict
from pathlib import Path

from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import write_json
from fairseq_posenc.results import new_result, read_result
from fairseq_posenc.tables import BETTER, WORSE, mean_and_deviation

#: What the file says it holds; pieces by position have a figure of their own.
KIND, BY_POSITION = "extrapolation", "by-position"
#: Level of the paired two-sided t-test (Chi et al. 2023, Table 3).
ALPHA = 0.05
#: What may change from run to run: where the text lies, which its hash tells better.
ELSEWHERE = ("data", "subset")


class ResultsFile:
    """A JSON file that is complete after every cell, so that an interrupted run loses no finished one.

    Args:
        path: of the file. It may hold cells of an earlier run under the same setting.
        setting: dictionary; what must be equal for cells to be comparable.
        baseline: the name of the system that others are compared with.

    Raises:
        InputError: the file holds something else, or cells of another setting.
    """

    def __init__(self, path, setting, baseline):
        # As JSON gives it back.
        self.path, self.setting, self.baseline = Path(path), json.loads(json.dumps(setting, default=str)), baseline
        self.checkpoints, self.cells = {}, {}
        if self.path.exists():
            self._read()

    def _read(self):
        kinds, cure = (KIND, BY_POSITION), "--json adds to a file that exists; choose another name"
        record = read_result(self.path, kinds, "extrapolate adds to", cure)
        for part, wanted in self.setting.items():
            self._compare(part, record.get(part), wanted)
        self.checkpoints = {checkpoint["path"]: checkpoint for checkpoint in record["checkpoints"]}
        self.cells = {key(cell): cell for cell in record["cells"]}

    def _compare(self, part, saved, wanted):
        if isinstance(saved, dict) and isinstance(wanted, dict):
            for name in {**wanted, **saved}:
                if name not in ELSEWHERE:
                    self._compare(f"{part}, {name}", saved.get(name), wanted.get(name))
        elif saved != wanted:
            raise InputError(
                f"--json {self.path} holds results of another setting ({part}: {saved}, now {wanted}), not comparable "
                "with these; choose another name, or give the options of that run"
            )

    def expect(self, checkpoints):
        """Add the checkpoints of this run: dictionaries with path, name and sha256, at least."""
        for checkpoint in checkpoints:
            saved = self.checkpoints.get(checkpoint["path"])
            if saved is not None and saved["sha256"] != checkpoint["sha256"]:
                raise InputError(
                    f"--json {self.path} holds results of another checkpoint {checkpoint['path']}, which has changed "
                    "since; choose another name"
                )
            self.checkpoints[checkpoint["path"]] = checkpoint
        names = [checkpoint["name"] for checkpoint in self.checkpoints.values()]
        if self.baseline is None:
            self.baseline = names[0]
        if self.baseline not in names:
            raise InputError(f"--baseline {self.baseline} is no system; give one of {', '.join(dict.fromkeys(names))}")

    def place(self, path):
        """Which checkpoint of its name this is: 0, 1, ..; those of equal place are pairs."""
        name = self.checkpoints[path]["name"]
        return [other for other, checkpoint in self.checkpoints.items() if checkpoint["name"] == name].index(path)

    def pairs(self):
        """Whether a system has several seeds, so that there is something to test."""
        names = [checkpoint["name"] for checkpoint in self.checkpoints.values()]
        return len(set(names)) > 1 and max(map(names.count, names)) > 1

    def holds(self, cell):
        return key(cell) in self.cells

    def check_tokens(self, cell, token_set):
        """Raise InputError where the file has this cell's system with other tokens than these."""
        for saved in self.cells.values():
            if saved["pair"] == cell["pair"] and saved["token_set"] != token_set:
                raise InputError(
                    f"--json {self.path} holds length {saved['length']} with other scored tokens, since the greatest "
                    "length was another; choose another name for these lengths"
                )

    def add(self, cell):
        """Take a finished cell and write the file."""
        self.cells[key(cell)] = cell
        self.save()

    def save(self):
        write_json(self.path, self.record())

    def record(self):
        """All that the file holds."""
        paths, patterns = list(self.checkpoints), list(dict.fromkeys(cell["pattern"] for cell in self.cells.values()))
        cells = sorted(
            self.cells.values(),
            key=lambda cell: (paths.index(cell["path"]), patterns.index(cell["pattern"]), cell["length"]),
        )
        for cell in cells:
            cell["name"], cell["pair"] = self.checkpoints[cell["path"]]["name"], self.place(cell["path"])
        fields = {
            **self.setting,
            "baseline": self.baseline,
            "checkpoints": list(self.checkpoints.values()),
            "summary": summary(cells, self.baseline),
            "cells": cells,
        }
        return new_result(BY_POSITION if self.setting["protocol"]["name"] == BY_POSITION else KIND, fields)


def key(cell):
    return cell["path"], cell["pattern"], cell["length"]


def summary(cells, baseline):
    """A dictionary for each system, pattern and length, in the order of the cells.

    ``perplexity`` is the mean over seeds and ``deviation`` the sample standard deviation, None with one seed. ``p`` is
    that of a paired two-sided t-test against ``baseline`` at the same length, under the pattern of its first cell; None
    unless both have the same pairs, two or more. ``mark``: BETTER where the baseline is significantly better, WORSE
    where it is worse, else empty.
    """
    groups = defaultdict(dict)
    for cell in cells:
        groups[cell["name"], cell["pattern"], cell["length"]][cell["pair"]] = cell["perplexity"]
    first_pattern = next((cell["pattern"] for cell in cells if cell["name"] == baseline), None)
    rows = []
    for (name, pattern, length), by_seed in groups.items():
        finite = None not in by_seed.values()
        mean, deviation = mean_and_deviation(by_seed.values()) if finite else (None, None)
        row = {
            "name": name,
            "pattern": pattern,
            "length": length,
            "seeds": len(by_seed),
            "perplexity": mean,
            "deviation": deviation,
        }
        reference = groups.get((baseline, first_pattern, length), {})
        compared = finite and (name, pattern) != (baseline, first_pattern) and None not in reference.values()
        rows.append({**row, **(paired_test(by_seed, reference) if compared else {"p": None, "mark": ""})})
    return rows


def paired_test(values, reference):
    """p and mark of {seed: perplexity} against the same of the baseline."""
    if values.keys() != reference.keys() or len(values) < 2:
        return {"p": None, "mark": ""}
    seeds = sorted(values)
    differences = [values[seed] - reference[seed] for seed in seeds]
    if len(set(differences)) == 1:  # the statistic is 0/0 or infinite
        return {"p": None, "mark": ""}
    p = float(t_test()([values[seed] for seed in seeds], [reference[seed] for seed in seeds]).pvalue)
    mark = "" if p >= ALPHA else BETTER if statistics.fmean(differences) > 0 else WORSE
    return {"p": p, "mark": mark}


def t_test():
    """scipy's paired t-test. Raises InputError where scipy is missing."""
    try:
        from scipy.stats import ttest_rel
    except ModuleNotFoundError:
        raise InputError(
            "several checkpoints of a name are compared by a t-test, which needs scipy; install it with: "
            "pip install 'fairseq-posenc[analysis]'"
        ) from None
    return ttest_rel
