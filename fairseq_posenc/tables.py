"""Tables: the text of cells, and rows for the terminal, in Markdown and as tab-separated values (TSV)."""

import statistics

from fairseq_posenc.errors import InputError
from fairseq_posenc.scoring.text import read_lines

#: Marks of a paired t-test, as in Chi et al. (2023): the baseline is significantly better, or worse.
BETTER, WORSE = "†", "*"


def groups(rows, *columns):
    """Group rows: {value: rows} by one column, {(value, ..): rows} by several, in the order of first appearance."""
    result = {}
    for row in rows:
        values = tuple(row[column] for column in columns)
        result.setdefault(values if len(columns) > 1 else values[0], []).append(row)
    return result


# ---- cells -----------------------------------------------------------------------------------------------------------
def mean_and_deviation(values):
    """The mean and the sample standard deviation, None for a single value."""
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None


def shown(value, form, deviation=None, mark=""):
    """5.27, or 5.27 ± 0.33, followed by the mark; "-" for None. Strings, such as a paper's number, stay unchanged.

    Args:
        form: format of the numbers, such as "{:.2f}".
    """
    value, deviation = (
        number if number is None or isinstance(number, str) else form.format(number) for number in (value, deviation)
    )
    return ("-" if value is None else value) + (f" ± {deviation}" if deviation else "") + mark


def bootstrap_marks(baseline, levels):
    """The legend of the marks of ``scoring.significance.mark``."""
    strong, weak = levels
    return f"++ and + better, -- and - worse than {baseline}: paired bootstrap, p < {strong:g} and p < {weak:g}"


def t_test_marks(baseline):
    """The legend of BETTER and WORSE."""
    return f"{baseline} is significantly better ({BETTER}) or worse ({WORSE}): paired t-test, 5 %"


# ---- rows of text, the header first ----------------------------------------------------------------------------------
def aligned(rows, left=1):
    """Lines with aligned columns: the first ``left`` columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(
            text.ljust(width) if place < left else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def markdown(rows, left=1):
    """Lines of a Markdown table, aligned as ``aligned`` does."""
    header, *rest = rows
    rule = ["---" if place < left else "---:" for place in range(len(header))]
    return ["| " + " | ".join(row) + " |" for row in [header, rule, *rest]]


# ---- rows of values --------------------------------------------------------------------------------------------------
def tsv(rows):
    """Dictionaries with equal keys as text: a header, then one line per row. None is empty; floats keep all digits."""
    columns = list(rows[0])
    lines = [columns, *(["" if row[column] is None else str(row[column]) for column in columns] for row in rows)]
    return "".join("\t".join(line) + "\n" for line in lines)


def read_tsv(path):
    """Read a file written by ``tsv``, with all values as text.

    Raises InputError if the file cannot be read, has no rows, or a line has another number of cells than the header.
    """
    not_empty = [line for line in read_lines(path) if line]
    if not not_empty:
        raise InputError(f"{path} has only empty lines; give a file with a header and rows")
    header, *lines = [line.split("\t") for line in not_empty]
    for number, cells in enumerate(lines, start=2):
        if len(cells) != len(header):
            raise InputError(f"{path}: line {number} has {len(cells)} cells but the header has {len(header)}")
    if not lines:
        raise InputError(f"{path} has a header but no rows; add them")
    return [dict(zip(header, cells)) for cells in lines]


def typed(rows, types, path):
    """Convert the values of ``rows`` to ``types`` {column: type}; drop other columns; empty cells become None.

    Raises InputError if a value cannot be converted.
    """
    converted = []
    for row in rows:
        try:
            converted.append({key: None if row[key] == "" else kind(row[key]) for key, kind in types.items()})
        except ValueError as error:
            raise InputError(f"{path}: {error}; give numbers in its number columns") from None
    return converted
