"""A grid of measurements: every checkpoint under every pattern at every length, checked before the first, resumable."""

from pathlib import Path

from tqdm import tqdm

from fairseq_posenc.analysis.language_model import load_model
from fairseq_posenc.analysis.results_file import ResultsFile
from fairseq_posenc.errors import InputError


def check_lengths(lengths, shortest, what):
    """Raise InputError for a length below ``shortest``, that which ``what`` needs, or one that is given twice."""
    for length in lengths:
        if length < shortest:
            raise InputError(f"--lengths: {length} is too small for {what}; give {shortest} or more")
        if lengths.count(length) > 1:
            raise InputError(f"--lengths: {length} is given twice; give each length once")


def check_systems(paths, names):
    """[(path, name)]; without names, a checkpoint's folder names its system.

    Raises InputError where the numbers differ, a path is given twice, or two folders have one name.
    """
    if names is None:
        names = [Path(path).resolve().parent.name for path in paths]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated:
            raise InputError(
                f"several checkpoints lie in folders named {repeated}; say with --names which are seeds of one system"
            )
    if len(names) != len(paths):
        raise InputError(f"--names has {len(names)} names for {len(paths)} checkpoints; give one each, in their order")
    repeated = next((path for path in paths if paths.count(path) > 1), None)
    if repeated:
        raise InputError(f"--path {repeated} is given twice; give each checkpoint once")
    return list(zip(map(str, paths), names))


class Measurement:
    """What is measured in each cell of a grid. The class is one that others extend.

    Attributes:
        command: whose measurement it is; kind: of its result.
        shortest: the smallest length, which ``needs`` says why.
        unit: of its progress.
    """

    shortest, needs, unit = 1, "a text", "text"

    def prepare(self, text, lengths):
        """Keep the Text that is measured on, and return it. Raises InputError where it is too short."""
        self.text, self.lengths = text, lengths
        return text

    def setting(self):
        """What must be the same for cells to stand in one file: dictionary."""
        return {}

    def inputs(self, length):
        """The most tokens that a model reads at once."""
        return length

    def check_model(self, loaded, name):
        """Raise InputError where a LanguageModel, one of the system ``name``, cannot be measured."""

    def check_names(self, names):
        """Raise InputError where systems are missing among those that the file will hold."""

    def check_cell(self, cell, saved):
        """Raise InputError where a cell to come does not belong to those ``saved`` in the file."""

    def steps(self, cell):
        """How many steps of progress a cell takes."""
        raise NotImplementedError

    def measure(self, loaded, cell, progress):
        """What is found of a LanguageModel under the pattern of the cell, ready for JSON.

        ``progress`` is called with numbers of steps.
        """
        raise NotImplementedError

    def fields(self, cells, saved):
        """What the result holds beside its setting, checkpoints and cells; ``saved``: the record in the file, or {}."""
        return {}


class Grid:
    """The cells of one call of a command.

    Args:
        measurement: a Measurement; text: a Text.
        systems: see check_systems; several checkpoints of a name are its seeds, and the i-th of one name and the i-th
            of another are a pair.
        patterns, lengths: lists; a pattern may be "trained".
        loading: further arguments of load_model.
        path: the JSON file.

    Raises:
        InputError: the text, a checkpoint, a length or a pattern does not fit, before the first forward pass.
    """

    def __init__(self, measurement, text, systems, patterns, lengths, loading, path):
        check_lengths(lengths, measurement.shortest, measurement.needs)
        self.measurement, self.lengths, self.loading = measurement, lengths, loading
        self.text = measurement.prepare(text, lengths)
        facts = {name: getattr(self.text, name) for name in ("data", "subset")}
        facts |= {"tokens": len(self.text), "trimmed": len(text) - len(self.text), "sha256": self.text.sha256}
        kept = {"precision": loading["precision"], "overrides": loading["overrides"]}
        self.results = ResultsFile(path, measurement, {**measurement.setting(), "text": facts, **kept})
        self._loaded = None
        self.cells = self._checked(systems, patterns)

    def _checked(self, systems, patterns):
        """The cells asked for, once everything about them has been checked."""
        names, checkpoints = {}, {}
        # Backwards, so that the one which is loaded last is the first to be used.
        for path, name in reversed(systems):
            loaded = self._load(path)
            self.measurement.check_model(loaded, name)
            names[path] = loaded.pattern_names(patterns)
            for length in self.lengths:
                loaded.check_length(self.measurement.inputs(length), length)
            checkpoints[path] = loaded.facts(name)
        self.results.expect([checkpoints[path] for path, _ in systems])
        cells = [
            {"path": path, "name": name, "pattern": pattern, "length": length, "pair": self.results.place(path)}
            for path, name in systems
            for pattern in names[path]
            for length in self.lengths
        ]
        for cell in cells:
            self.measurement.check_cell(cell, self.results.cells.values())
        return cells

    def run(self):
        """Measure the cells that the file does not hold yet, each saved when it is finished; return the record."""
        left = [cell for cell in self.cells if not self.results.holds(cell)]
        steps = sum(map(self.measurement.steps, left))
        with tqdm(total=steps, unit=self.measurement.unit, unit_scale=True, disable=None) as bar:
            for cell in left:
                bar.set_description(f"{cell['name']} {cell['pattern']} {cell['length']}")
                loaded = self._load(cell["path"])
                loaded.use_pattern(cell["pattern"])
                self.results.add({**cell, **self.measurement.measure(loaded, cell, bar.update)})
        self.results.save()
        return self.results.record()

    def _load(self, path):
        """The checkpoint's model; the last one asked for is kept."""
        if self._loaded is None or self._loaded.path != path:
            self._loaded = None  # before the next one takes its memory
            self._loaded = load_model(path, self.text, **self.loading)
        return self._loaded
