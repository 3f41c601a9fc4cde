"""Saved results that can be drawn: which kind a file holds, and its numbers as rows."""

import json
from collections import Counter
from pathlib import Path

from fairseq_posenc.errors import InputError
from fairseq_posenc.plots import (
    by_position,
    cost,
    encoding,
    extrapolation,
    grain,
    kernel_dim,
    lengths,
    receptive_field,
    resolution,
)
from fairseq_posenc.tables import read_tsv, typed

# Kind -> module with COLUMNS, REQUIRED, draw({label: rows}) and, where JSON files hold that kind, rows(record).
# A TSV file is of the first kind whose columns it has.
KINDS = {
    "cost": cost,
    "grain": grain,
    "lengths": lengths,
    "table": kernel_dim,
    "encoding": encoding,
    "receptive-field": receptive_field,
    "resolution": resolution,
    "by-position": by_position,
    "extrapolation": extrapolation,
}

#: matplotlib cannot divide an axis of larger numbers.
LARGEST = 1e100


def read_results(paths, paper_path=None):
    """Read results of one kind: (kind, {label: rows}); the paper's come last and say so in their label.

    A result is a JSON file whose ``kind`` says what it is, or a TSV file with the columns of a kind, as ``plot`` writes
    beside its pictures; its column ``result``, where it has one, tells several results apart. Labels are those, or
    the files' stems, with the files' paths where that is not enough.

    Raises InputError where a file cannot be read, its kind is unknown, the kinds differ, or a file is given twice.
    """
    repeated = [path for path, count in Counter(map(str, paths)).items() if count > 1]
    if repeated:
        raise InputError(f"{repeated[0]} is given twice; give each result once")
    files = [(path, "") for path in paths] + ([] if paper_path is None else [(paper_path, "the paper's")])
    first_kind, labelled = None, {}
    for path, owner in files:
        kind, results = read_result(path)
        first_kind = first_kind or kind
        if kind != first_kind:
            raise InputError(f"{paths[0]} holds {first_kind} but {path} {kind}; draw results of one kind together")
        for name, rows in results.items():
            label = ", ".join(part for part in (owner, name) if part) or Path(path).stem
            labelled[f"{label} ({path})" if label in labelled else label] = rows
    return first_kind, labelled


def read_result(path):
    """Return (kind, {name of the result, or None: rows}) of one file."""
    kind, results = read_tsv_result(path) if Path(path).suffix == ".tsv" else read_json_result(path)
    if not all(results.values()):
        raise InputError(f"{path} holds no numbers; nothing can be drawn")
    choices = getattr(KINDS[kind], "CHOICES", {})
    for row in (row for rows in results.values() for row in rows):
        for column, value in row.items():
            if isinstance(value, (int, float)) and abs(value) > LARGEST:
                raise InputError(f"{path}: {column} {value:.3g} is too large to be drawn; correct the result")
            if column in choices and value not in choices[column]:
                raise InputError(f"{path}: {column} must be one of {', '.join(choices[column])}, but is {value}")
    return kind, results


def read_json_result(path):
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); give a result that a command wrote with --json") from None
    kind = record.get("kind") if isinstance(record, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        says = "names no kind of result" if kind is None else f"holds {kind!r}, which is no kind that can be drawn"
        raise InputError(f"{path} {says}; known kinds: {', '.join(KINDS)}")
    try:
        return kind, {None: KINDS[kind].rows(record)}
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{path} is no complete {kind} result ({error!r}); write it again") from None


def read_tsv_result(path):
    rows = read_tsv(path)
    kind = next((kind for kind, module in KINDS.items() if rows[0].keys() >= set(module.REQUIRED)), None)
    if kind is None:
        wanted = "; ".join(f"{kind}: {', '.join(module.REQUIRED)}" for kind, module in KINDS.items())
        raise InputError(f"{path} has the columns {', '.join(rows[0])}, which are of no kind; needed: {wanted}")
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
