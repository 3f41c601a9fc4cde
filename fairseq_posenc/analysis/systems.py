"""Every checkpoint under every pattern at every length, checked before the first is measured."""

from pathlib import Path

from tqdm import tqdm

from fairseq_posenc.analysis.language_model import load_model
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


def measure_systems(text, systems, patterns, lengths, loading, measure, steps, predicted=0):
    """Measure models of this package.

    Args:
        text: a Text; systems: see check_systems; loading: further arguments of load_model.
        measure: (LanguageModel, length, progress) -> dictionary; called under each pattern, it calls ``progress()`` so
            many times as ``steps`` says.
        predicted: how many tokens of a length models do not read.

    Returns:
        What is known of the checkpoints, and the measured cells, both lists of dictionaries ready for JSON.

    Raises:
        InputError: a checkpoint, pattern or length does not fit, before anything is measured.
    """
    checkpoints, names, loaded = {}, {}, None
    # Backwards, so that the one which is loaded last is the first to be used.
    for path, name in reversed(systems):
        loaded = None  # before the next one takes its memory
        loaded = load_model(path, text, **loading)
        loaded.attentions()
        names[path] = loaded.pattern_names(patterns)
        for length in lengths:
            loaded.check_length(length - predicted, length)
        checkpoints[path] = loaded.facts(name)
    cells = []
    with tqdm(total=steps * len(lengths) * sum(map(len, names.values())), unit="text", disable=None) as bar:
        for path, name in systems:
            if loaded is None or loaded.path != path:
                loaded = None
                loaded = load_model(path, text, **loading)
            for pattern in names[path]:
                loaded.use_pattern(pattern)
                for length in lengths:
                    bar.set_description(f"{name} {pattern} {length}")
                    cell = {"name": name, "path": path, "pattern": pattern, "length": length}
                    cells.append({**cell, **measure(loaded, length, bar.update)})
    return [checkpoints[path] for path, _ in systems], cells
