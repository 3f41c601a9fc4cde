"""Saved results: every file names its kind, and JSON files also the version of their fields (docs/results.md)."""

import json
from pathlib import Path

from fairseq_posenc import tables
from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import provenance, write_json

#: Kind -> version of its fields, to be raised by changes with which an older reader would fail or read wrong values.
SCHEMAS = {
    "scores": 1,
    "grain": 1,
    "lengths": 1,
    "extrapolation": 1,
    "by-position": 1,
    "resolution": 1,
    "receptive-field": 1,
    "cost": 1,
    "pattern-cost": 1,
    "command-cost": 1,
    "gpu-check": 1,
    "export-speed": 1,
    "quickstart": 1,
    "table": 1,
    "length-table": 1,
    "length-tasks": 1,
    "length-bands": 1,
    "corpus": 1,
    "cleaning": 1,
    "checksums": 1,
}
#: Kinds that older files did not name -> the fields that identify them.
UNNAMED = {"scores": ("systems", "signatures", "significance"), "quickstart": ("systems", "samples", "options")}


def new_result(kind, fields):
    """The record of a result: its kind, its schema, its fields, and where it came from."""
    return {**labelled(kind, fields), **provenance()}


def labelled(kind, fields):
    """A record with its kind and schema in front."""
    return {"kind": kind, "schema": SCHEMAS[kind], **fields}


def write_result(path, kind, fields):
    """Write a result as JSON; see provenance.write_json."""
    write_json(path, new_result(kind, fields))


def result_tsv(kind, rows):
    """Rows as TSV with the kind in the first column, which every TSV reader accepts, unlike a comment line."""
    return tables.tsv([{"kind": kind, **row} for row in rows])


def read_result(path, kinds, purpose, cure):
    """The record in a JSON file, with its kind even if an older file does not name it.

    Args:
        kinds: the accepted kinds.
        purpose, cure: ends of the error messages: the purpose for which other kinds are unsuitable, and the cure.

    Raises:
        InputError: the file cannot be read, holds another kind, or has a newer schema than this version knows.
    """
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; {cure}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); {cure}") from None
    kind = kind_of(record)
    if kind not in kinds:
        problem = "names no kind of result" if kind is None else f"holds {kind!r}, which is no kind that {purpose}"
        raise InputError(f"{path} {problem}; known kinds: {', '.join(kinds)}")
    schema = record.get("schema", 1)
    if not isinstance(schema, int) or schema > SCHEMAS.get(kind, schema):
        raise InputError(
            f"{path} has schema {schema} of {kind}, but this version reads up to {SCHEMAS[kind]}; update fairseq-posenc"
        )
    return {**record, "kind": kind}


def kind_of(record):
    """The kind that a record names, or that its fields identify; None if unknown."""
    if not isinstance(record, dict):
        return None
    guessed = (kind for kind, fields in UNNAMED.items() if all(field in record for field in fields))
    kind = record["kind"] if "kind" in record else next(guessed, None)
    return kind if kind is None or isinstance(kind, str) else str(kind)
