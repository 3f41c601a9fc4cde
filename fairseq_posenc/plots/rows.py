"""Rows: the numbers of a figure, as dictionaries with equal keys and as a file of tab-separated values."""

from fairseq_posenc.errors import InputError
from fairseq_posenc.scoring.text import read_lines


def rows_to_tsv(rows):
    """Return rows as text: a header, then a line each; None is an empty cell, floats keep all their digits."""
    columns = list(rows[0])
    lines = ["\t".join(columns)]
    lines += ["\t".join("" if row[column] is None else str(row[column]) for column in columns) for row in rows]
    return "".join(line + "\n" for line in lines)


def read_tsv(path):
    """Read what ``rows_to_tsv`` wrote, all values as text.

    Raises InputError where the file cannot be read, has no rows, or a line with another number of cells.
    """
    filled = [line for line in read_lines(path) if line]
    if not filled:
        raise InputError(f"{path} has only empty lines; nothing can be drawn")
    header, *lines = [line.split("\t") for line in filled]
    for number, cells in enumerate(lines, start=2):
        if len(cells) != len(header):
            raise InputError(f"{path}: line {number} has {len(cells)} cells but the header has {len(header)}")
    if not lines:
        raise InputError(f"{path} has a header but no rows; nothing can be drawn")
    return [dict(zip(header, cells)) for cells in lines]


def typed(rows, types, path):
    """Convert the values of ``rows`` by ``types`` {column: type}; other columns are dropped, an empty cell is None.

    Raises InputError where a value cannot be converted.
    """
    converted = []
    for row in rows:
        try:
            converted.append({key: None if row[key] == "" else kind(row[key]) for key, kind in types.items()})
        except ValueError as error:
            raise InputError(f"{path}: {error}; give numbers in its number columns") from None
    return converted


def groups(rows, column):
    """Return {value: rows with that value}, in the order of first appearance."""
    found = {}
    for row in rows:
        found.setdefault(row[column], []).append(row)
    return found
