"""A resumable grid of measurements: every checkpoint with every pattern and length, all checked before the first."""

from pathlib import Path

from tqdm import tqdm

from fairseq_posenc.analysis.language_model import load_model
from fairseq_posenc.analysis.results_file import ResultsFile
from fairseq_posenc.errors import InputError


def check_lengths(lengths, shortest, what):
    """Raise InputError for a length below ``shortest``, which ``what`` needs, or a length given twice."""
    for length in lengths:
        if length < shortest:
            raise InputError(f"--lengths: {length} is too small for {what}; give {shortest} or more")
        if lengths.count(length) > 1:
            raise InputError(f"--lengths: {length} is given twice; give each length once")


def check_systems(paths, names):
    """[(path, name)]; without names, a checkpoint's folder names its system.

    Raises InputError if there are not as many names as paths, a path is given twice, or folders have equal names.
    """
    if names is None:
        names = [Path(path).resolve().parent.name for path in paths]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated:
            raise InputError(
                f"several checkpoints are in folders named {repeated}; name the system of each checkpoint with --names"
            )
    if len(names) != len(paths):
        raise InputError(
            f"--names has {len(names)} names for {len(paths)} checkpoints; give one name per checkpoint, in order"
        )
    repeated = next((path for path in paths if paths.count(path) > 1), None)
    if repeated:
        raise InputError(f"--path {repeated} is given twice; give each checkpoint once")
    return list(zip(map(str, paths), names))


class Measurement:
    """Base class of the measurements in the cells of a grid.

    Attributes:
        command: the command that makes this measurement; kind: of its result.
        shortest: the smallest length; needs: what needs this length, for error messages.
        unit: of the progress bar.
    """

    shortest, needs, unit = 1, "a text", "text"

    def prepare(self, text, lengths):
        """Store the part of the Text that is used, and return it. Raises InputError if the text is too short."""
        self.text, self.lengths = text, lengths
        return text

    def setting(self):
        """The settings that all cells of a file must share, as a dictionary."""
        return {}

    def inputs(self, length):
        """The largest number of tokens that a model reads at once."""
        return length

    def check_model(self, loaded, name):
        """Raise InputError if this LanguageModel of the system ``name`` cannot be measured."""

    def check_names(self, names):
        """Raise InputError if the measurement needs a system that is not among ``names``."""

    def check_cell(self, cell, saved):
        """Raise InputError if a new cell cannot be compared with the cells ``saved`` in the file."""

    def steps(self, cell):
        """The number of progress steps of a cell."""
        raise NotImplementedError

    def measure(self, loaded, cell, progress):
        """The results of a LanguageModel for a cell, ready for JSON; the model already uses the pattern of the cell.

        ``progress`` is called with numbers of finished steps.
        """
        raise NotImplementedError

    def fields(self, cells, saved):
        """Further fields of the result; ``saved``: the record in the file, or {}."""
        return {}

    def table(self, record):
        """What the command prints of a result, as text."""
        raise NotImplementedError


class Grid:
    """The cells of one call of a command.

    Args:
        measurement: a Measurement; text: a Text.
        systems: see check_systems; checkpoints with equal names are seeds of one system, and the i-th seeds of all
            systems are compared in pairs.
        patterns, lengths: lists; a pattern may be "trained".
        loading: further keyword arguments of load_model.
        path: the JSON file.

    Raises:
        InputError: the text, a checkpoint, a length or a pattern is unsuitable; before the first forward pass.
    """

    def __init__(self, measurement, text, systems, patterns, lengths, loading, path):
        check_lengths(lengths, measurement.shortest, measurement.needs)
        self.measurement, self.lengths, self.loading = measurement, lengths, loading
        self.text = measurement.prepare(text, lengths)
        source = {"data": self.text.data, "subset": self.text.subset}
        source |= {"tokens": len(self.text), "trimmed": len(text) - len(self.text), "sha256": self.text.sha256}
        models = {"precision": loading["precision"], "overrides": loading["overrides"]}
        self.results = ResultsFile(path, measurement, {**measurement.setting(), "text": source, **models})
        self._loaded = None
        self.cells = self._checked(systems, patterns)

    def _checked(self, systems, patterns):
        """The cells to measure, after all checks."""
        names, checkpoints = {}, {}
        # In reverse order, so that the model loaded last is the first to be measured.
        for path, name in reversed(systems):
            loaded = self._load(path)
            self.measurement.check_model(loaded, name)
            names[path] = loaded.pattern_names(patterns)
            for length in self.lengths:
                loaded.check_length(self.measurement.inputs(length), length)
            checkpoints[path] = loaded.describe(name)
        self.results.expect([checkpoints[path] for path, _ in systems])
        cells = [
            {"path": path, "name": name, "pattern": pattern, "length": length, "pair": self.results.seed_index(path)}
            for path, name in systems
            for pattern in names[path]
            for length in self.lengths
        ]
        with self.results.complete():
            for cell in cells:
                self.measurement.check_cell(cell, self.results.cells.values())
        return cells

    def run(self):
        """Measure the cells that are not in the file yet, saving each as soon as it is finished; return the table."""
        remaining = [cell for cell in self.cells if not self.results.holds(cell)]
        steps = sum(map(self.measurement.steps, remaining))
        with tqdm(total=steps, unit=self.measurement.unit, unit_scale=True, disable=None) as bar:
            for cell in remaining:
                bar.set_description(f"{cell['name']} {cell['pattern']} {cell['length']}")
                loaded = self._load(cell["path"])
                loaded.use_pattern(cell["pattern"])
                self.results.add({**cell, **self.measurement.measure(loaded, cell, bar.update)})
        self.results.save()
        return self.measurement.table(self.results.record())

    def _load(self, path):
        """The model of a checkpoint; the most recent one stays in memory."""
        if self._loaded is None or self._loaded.path != path:
            self._loaded = None  # free its memory before loading the next one
            self._loaded = load_model(path, self.text, **self.loading)
        return self._loaded
