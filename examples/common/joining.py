"""What commands share that join results of several machines."""

import argparse
from pathlib import Path

from fairseq_posenc.errors import InputError

#: Where a result comes from.
ORIGIN = ("command", "commit", "uncommitted_changes", "date", "versions", "hardware", "made_again")


def join_parser(description):
    """A parser with the arguments of these commands."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="path of the joined table, without extension")
    parser.add_argument("results", type=Path, nargs="+", help="JSON files of the table")
    return parser


def check_same(paths, records, keys):
    """Raise InputError unless the records in these files agree in these fields."""
    for path, record in zip(paths, records):
        for key in keys:
            if record[key] != records[0][key]:
                raise InputError(
                    f"{path} has {key} {record[key]!r}, but {paths[0]} has {records[0][key]!r}; join results that agree"
                )


def check_new(paths, systems):
    """Raise InputError if two files have the same system.

    Args:
        systems: for each path, tuples of texts that each identify a training run.
    """
    of_system = {}
    for path, found in zip(paths, systems):
        for system in found:
            first = of_system.setdefault(system, path)
            if first is not path:
                raise InputError(
                    f"{path} and {first} both have {' '.join(map(str, system))}; join results of other runs"
                )


def origins(record):
    """Where a result comes from: one entry for each result that it was joined of, if it was."""
    return record.get("joined") or [{key: record[key] for key in ORIGIN if key in record}]
