"""Tables: what stands in a cell, and rows for the terminal, in Markdown and as tab-separated values (TSV)."""

import statistics

from fairseq_posenc.errors import InputError
from fairseq_posenc.scoring.text import read_lines

#: Marks of a paired t-test, those of Chi et al. (2023): the baseline is significantly better, or worse.
BETTER, WORSE = "†", "*"


def groups(rows, *columns):
    """{value: rows with it} of one column, {(value, ..): rows} of several, in the order of first appearance."""
    found = {}
    for row in rows:
        values = tuple(row[column] for column in columns)
        found.setdefault(values if len(columns) > 1 else values[0], []).append(row)
    return found


# ---- cells -----------------------------------------------------------------------------------------------------------
def mean_and_deviation(values):
    """The mean and the sample standard deviation, None for a single value."""
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None


def shown(value, form, deviation=None, mark=""):
    """5.27, or 5.27 ± 0.33, with the mark behind it; "-" for None. Text, such as a paper's number, stays as it is.

    Args:
        form: of the numbers, such as "{:.2f}".
    """
    value, deviation = (
        number if number is None or isinstance(number, str) else form.format(number) for number in (value, deviation)
    )
    return ("-" if value is None else value) + (f" ± {deviation}" if deviation else "") + mark


def bootstrap_marks(baseline, levels):
    """What the marks of ``scoring.significance.mark`` say."""
    strong, weak = levels
    return f"++ and + better, -- and - worse than {baseline}: paired bootstrap, p < {strong:g} and p < {weak:g}"


def t_test_marks(baseline):
    """What BETTER and WORSE say."""
    return f"{baseline} is significantly better ({BETTER}) or worse ({WORSE}): paired t-test, 5 %"


# ---- rows of text, the header first ----------------------------------------------------------------------------------
def aligned(rows, left=1):
    """Lines with the columns below each other: the first ``left`` ones to the left, the others to the right."""
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
    """Dictionaries with equal keys as text: a header, a line each; None is an empty cell, floats keep all digits."""
    columns = list(rows[0])
    lines = [columns, *(["" if row[column] is None else str(row[column]) for column in columns] for row in rows)]
    return "".join("\t".join(line) + "\n" for line in lines)


def read_tsv(path):
    """Read what ``tsv`` made, all values as text.

    Raises InputError where the file cannot be read, has no rows, or a line with another number of cells.
    """
    filled = [line for line in read_lines(path) if line]
    if not filled:
        raise InputError(f"{path} has only empty lines; give a file with a header and rows")
    header, *lines = [line.split("\t") for line in filled]
    for number, cells in enumerate(lines, start=2):
        if len(cells) != len(header):
            raise InputError(f"{path}: line {number} has {len(cells)} cells but the header has {len(header)}")
    if not lines:
        raise InputError(f"{path} has a header but no rows; add them")
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
