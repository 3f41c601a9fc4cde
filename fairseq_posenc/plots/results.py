"""Reading saved results for figures: the kind of a file, and its numbers as rows."""

import reprlib
from collections import Counter
from pathlib import Path

from fairseq_posenc.errors import InputError
from fairseq_posenc.names import nearest
from fairseq_posenc.plots import (
    by_position,
    command_cost,
    cost,
    encoding,
    extrapolation,
    grain,
    kernel_dim,
    length_bands,
    length_curves,
    length_table,
    length_tasks,
    lengths,
    pattern_cost,
    receptive_field,
    resolution,
    scores,
)
from fairseq_posenc.results import read_result
from fairseq_posenc.tables import groups, read_tsv, typed

# Kind -> module with COLUMNS, REQUIRED, draw({label: rows}) and, for kinds of JSON files, rows(record).
# A TSV file without a column "kind" is of the first kind whose required columns it has.
KINDS = {
    "cost": cost,
    "grain": grain,
    "lengths": lengths,
    "kernel-dim": kernel_dim,
    "encoding": encoding,
    "receptive-field": receptive_field,
    "resolution": resolution,
    "by-position": by_position,
    "pattern-cost": pattern_cost,
    "command-cost": command_cost,
    "length-table": length_table,
    "length-tasks": length_tasks,
    "length-curves": length_curves,
    "length-bands": length_bands,
    "extrapolation": extrapolation,
    "table": scores,
    "scores": scores,
    "quickstart": scores,
}

#: Columns that name what is compared; the first one that a kind requires is that of ``plot --only``.
SYSTEM_COLUMNS = ("name", "system", "row", "encoding")
#: matplotlib cannot divide an axis of larger numbers.
LARGEST = 1e100
#: Type of a column -> its name in errors.
NAMES = {str: "text", int: "a whole number", float: "a number"}


def read_results(paths, paper_path=None):
    """Read results of one kind: (kind, {label: rows}); results of the paper come last, with "the paper's" in the label.

    A result is a JSON file with a ``kind``, or a TSV file (as written by ``plot`` next to its figures) with a column
    ``kind`` or the required columns of a kind. A column ``result`` separates several results in one TSV file. Its
    values, or else the files' stems, are the labels, with the files' paths if labels would be equal.

    Raises InputError if a file cannot be read, its kind is unknown, the kinds differ, or a file is given twice.
    """
    repeated = [path for path, count in Counter(map(str, paths)).items() if count > 1]
    if repeated:
        raise InputError(f"{repeated[0]} is given twice; give each result once")
    files = [(path, "") for path in paths] + ([] if paper_path is None else [(paper_path, "the paper's")])
    first_kind, labelled = None, {}
    for path, owner in files:
        kind, results = read_drawable(path)
        first_kind = first_kind or kind
        if kind != first_kind:
            raise InputError(f"{paths[0]} holds {first_kind} but {path} {kind}; draw results of one kind together")
        for name, rows in results.items():
            label = ", ".join(part for part in (owner, name) if part) or Path(path).stem
            labelled[f"{label} ({path})" if label in labelled else label] = rows
    return first_kind, labelled


def chosen(kind, results, names):
    """The rows of the named systems, without results that have none of them: {label: rows}.

    Raises InputError if the kind has no systems, or a name is not among them.
    """
    column = next((column for column in SYSTEM_COLUMNS if column in KINDS[kind].REQUIRED), None)
    if column is None:
        raise InputError(f"--only {','.join(names)}: {kind} has no systems to choose from; leave --only out")
    known = list(dict.fromkeys(row[column] for rows in results.values() for row in rows))
    for name in names:
        if name not in known:
            problem = f"--only {name} is not one of the results' systems{nearest(name, known)}"
            raise InputError(f"{problem}; they are {', '.join(known)}")
    kept = {label: [row for row in rows if row[column] in names] for label, rows in results.items()}
    return {label: rows for label, rows in kept.items() if rows}


def read_drawable(path):
    """Return (kind, {name of the result, or None: rows}) of one file."""
    kind, results = read_tsv_result(path) if Path(path).suffix == ".tsv" else read_json_result(path)
    if not all(results.values()):
        raise InputError(f"{path} contains no numbers to draw; give another result")
    for row in (row for rows in results.values() for row in rows):
        for column, value in row.items():
            check_value(path, KINDS[kind], column, value)
    return kind, results


def check_value(path, kind, column, value):
    """Raise InputError for a value, None where there is none, of another type than its column, or that no axis has."""
    of_type, choices = kind.COLUMNS[column], getattr(kind, "CHOICES", {}).get(column)
    if value is None and column not in kind.REQUIRED:
        return
    shown = reprlib.repr(value)
    if isinstance(value, bool) or not isinstance(value, (int, float) if of_type is float else of_type):
        raise InputError(f"{path}: {column} must be {NAMES[of_type]}, but is {shown}; correct the result")
    if of_type is not str and not abs(value) <= LARGEST:
        problem = "is no number that can" if value != value else "is too large to"
        raise InputError(f"{path}: {column} {shown} {problem} be drawn; correct the result")
    if choices and value not in choices:
        raise InputError(f"{path}: {column} must be one of {', '.join(choices)}, but is {value}")


def read_json_result(path):
    record = read_result(path, KINDS, "can be drawn", "give a result that a command wrote with --json")
    kind = record["kind"]
    try:
        if kind == "table" and kernel_dim.rows(record):
            kind = "kernel-dim"
        return kind, {None: KINDS[kind].rows(record)}
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise InputError(f"{path} is not a complete {kind} result ({error!r}); create it again") from None


def read_tsv_result(path):
    rows = read_tsv(path)
    kind = kind_of_tsv(path, rows)
    names = [row.get("result") for row in rows]
    columns, required = KINDS[kind].COLUMNS, KINDS[kind].REQUIRED
    rows = typed(rows, {column: of_type for column, of_type in columns.items() if column in rows[0]}, path)
    for row in rows:
        empty = next((column for column in required if row[column] is None), None)
        if empty is not None:
            raise InputError(f"{path} has an empty cell in its column {empty}; fill it in")
    results = {}
    for name, row in zip(names, rows):
        results.setdefault(name, []).append({column: row.get(column) for column in columns})
    return kind, results


def kind_of_tsv(path, rows):
    """The kind in the column ``kind``, or the first kind whose required columns are all there."""
    named = list(groups(rows, "kind")) if "kind" in rows[0] else []
    if len(named) > 1:
        raise InputError(f"{path} has rows of several kinds ({', '.join(named)}); give a file of one kind")
    if named and named[0] not in KINDS:
        known = ", ".join(KINDS)
        raise InputError(f"{path} holds {named[0]!r}, which is no kind that can be drawn; known kinds: {known}")
    candidates = {kind: KINDS[kind].REQUIRED for kind in named or KINDS}
    kind = next((kind for kind, required in candidates.items() if rows[0].keys() >= set(required)), None)
    if kind is None:
        needed = "; ".join(f"{kind}: {', '.join(required)}" for kind, required in candidates.items())
        raise InputError(f"{path} has the columns {', '.join(rows[0])}, which match no kind; required: {needed}")
    return kind
