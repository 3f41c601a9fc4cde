"""The file of a grid of measurements: finished cells, and what they belong to."""

import json
from pathlib import Path

from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import write_json
from fairseq_posenc.results import new_result, read_result

#: What may change from run to run: where the text lies, which its hash tells better.
ELSEWHERE = ("data", "subset")


class ResultsFile:
    """A JSON file that is complete after every cell, so that an interrupted run loses no finished one.

    Args:
        path: of the file. It may hold cells of an earlier run under the same setting.
        measurement: a Measurement (grid.py).
        setting: dictionary; what must be equal for cells to be comparable.

    Raises:
        InputError: the file holds something else, or cells of another setting.
    """

    def __init__(self, path, measurement, setting):
        self.path, self.measurement = Path(path), measurement
        self.setting = json.loads(json.dumps(setting, default=str))  # as JSON gives it back
        self.saved, self.checkpoints, self.cells = {}, {}, {}
        if self.path.exists():
            self._read()

    def _read(self):
        command, cure = self.measurement.command, "--json adds to a file that exists; choose another name"
        record = read_result(self.path, self.measurement.kinds, f"{command} adds to", cure)
        if "cells" not in record:
            raise InputError(f"--json {self.path} holds a result of --closed-form; choose another name")
        cells = record["cells"]
        for part, wanted in self.setting.items():
            # Older files say in every cell what all of them share.
            self._compare(part, record.get(part, cells[0].get(part) if cells else wanted), wanted)
        self.saved = record
        self.checkpoints = {checkpoint["path"]: checkpoint for checkpoint in record["checkpoints"]}
        self.cells = {key(cell): cell for cell in cells}

    def _compare(self, part, saved, wanted):
        if isinstance(saved, dict) and isinstance(wanted, dict):
            for name in {**wanted, **saved}:
                if name not in ELSEWHERE:
                    # Files of other commands than extrapolate did not say that no token is left out.
                    absent = 0 if name == "trimmed" else None
                    self._compare(f"{part}, {name}", saved.get(name, absent), wanted.get(name, absent))
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
        self.measurement.check_names(self.names())

    def names(self):
        """The name of every checkpoint's system."""
        return [checkpoint["name"] for checkpoint in self.checkpoints.values()]

    def place(self, path):
        """Which checkpoint of its name this is: 0, 1, ..; those of equal place are pairs."""
        name = self.checkpoints[path]["name"]
        return [other for other, checkpoint in self.checkpoints.items() if checkpoint["name"] == name].index(path)

    def pairs(self):
        """Whether a system has several seeds, so that there is something to test."""
        names = self.names()
        return len(set(names)) > 1 and max(map(names.count, names)) > 1

    def holds(self, cell):
        return key(cell) in self.cells

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
        fields = {**self.setting, "checkpoints": list(self.checkpoints.values())}
        fields |= {**self.measurement.fields(cells, self.saved), "cells": cells}
        return new_result(self.measurement.kind, fields)


def key(cell):
    return cell["path"], cell["pattern"], cell["length"]
