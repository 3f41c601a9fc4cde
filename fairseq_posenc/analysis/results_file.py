"""The file of a grid of measurements: the finished cells, their setting and their checkpoints."""

import json
from contextlib import contextmanager
from pathlib import Path

from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import write_json
from fairseq_posenc.results import new_result, read_result

#: Settings that may change from run to run: the location of the text, which is identified by its hash.
MAY_DIFFER = ("data", "subset")


class ResultsFile:
    """A JSON file that is written after every cell, so that an interrupted run loses no finished cell.

    Args:
        path: of the file. It may hold cells of an earlier run with the same setting.
        measurement: a Measurement (grid.py).
        setting: dictionary of the settings that all cells of the file share.

    Raises:
        InputError: the file holds something else, or cells of another setting.
    """

    def __init__(self, path, measurement, setting):
        self.path, self.measurement = Path(path), measurement
        self.setting = json.loads(json.dumps(setting, default=str))  # the form in which it is read back
        self.saved, self.checkpoints, self.cells = {}, {}, {}
        if self.path.exists():
            with self.complete():
                self._read()

    @contextmanager
    def complete(self):
        """Raise InputError where the code inside stumbles over what the file holds."""
        try:
            yield
        except InputError:
            raise
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
            raise InputError(f"--json {self.path} is not a complete result ({error!r}); choose another name") from None

    def _read(self):
        command, cure = self.measurement.command, "--json adds to an existing file; choose another name"
        record = read_result(self.path, self.measurement.kinds, f"{command} adds to", cure)
        if "cells" not in record:
            raise InputError(f"--json {self.path} holds a result of --closed-form; choose another name")
        cells = record["cells"]
        for part, current in self.setting.items():
            # Older files repeat the shared settings in every cell.
            self._compare(part, record.get(part, cells[0].get(part) if cells else current), current)
        self.saved = record
        self.checkpoints = {checkpoint["path"]: checkpoint for checkpoint in record["checkpoints"]}
        self.cells = {key(cell): cell for cell in cells}

    def _compare(self, part, saved, current):
        if isinstance(saved, dict) and isinstance(current, dict):
            for name in {**current, **saved}:
                if name not in MAY_DIFFER:
                    # Older files of commands other than extrapolate have no "trimmed", because they used all tokens.
                    default = 0 if name == "trimmed" else None
                    self._compare(f"{part}, {name}", saved.get(name, default), current.get(name, default))
        elif saved != current:
            raise InputError(
                f"--json {self.path} holds results of another setting ({part}: {saved}, now {current}), which cannot "
                "be compared with these; choose another name, or repeat the options of that run"
            )

    def expect(self, checkpoints):
        """Add the checkpoints of this run: dictionaries with path, name and sha256, at least.

        Raises InputError where one has changed, or what the file holds cannot be added to.
        """
        with self.complete():
            self._expect(checkpoints)
            if self.cells:
                self.measurement.table(self.record())  # all that the command will read of the file

    def _expect(self, checkpoints):
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

    def seed_index(self, path):
        """The index of a checkpoint among those of its name: 0, 1, ..; equal indices are compared in pairs."""
        name = self.checkpoints[path]["name"]
        return [other for other, checkpoint in self.checkpoints.items() if checkpoint["name"] == name].index(path)

    def pairs(self):
        """Whether there are several systems, at least one with several seeds, so that a t-test makes sense."""
        names = self.names()
        return len(set(names)) > 1 and max(map(names.count, names)) > 1

    def holds(self, cell):
        return key(cell) in self.cells

    def add(self, cell):
        """Add a finished cell and write the file."""
        self.cells[key(cell)] = cell
        self.save()

    def save(self):
        write_json(self.path, self.record())

    def record(self):
        """The content of the file."""
        paths, patterns = list(self.checkpoints), list(dict.fromkeys(cell["pattern"] for cell in self.cells.values()))
        cells = sorted(
            self.cells.values(),
            key=lambda cell: (paths.index(cell["path"]), patterns.index(cell["pattern"]), cell["length"]),
        )
        for cell in cells:
            cell["name"], cell["pair"] = self.checkpoints[cell["path"]]["name"], self.seed_index(cell["path"])
        fields = {**self.setting, "checkpoints": list(self.checkpoints.values())}
        fields |= {**self.measurement.fields(cells, self.saved), "cells": cells}
        return new_result(self.measurement.kind, fields)


def key(cell):
    return cell["path"], cell["pattern"], cell["length"]
