"""A grid, rows of texts with the header first, as a table for the terminal or in Markdown; and tables as files."""


def aligned(rows):
    """Lines with the columns below each other: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
        for row in rows
    ]


def markdown(rows):
    """Lines of a Markdown table, columns after the first to the right."""
    header, *rest = rows
    rule = ["---", *["---:"] * (len(header) - 1)]
    return ["| " + " | ".join(row) + " |" for row in [header, rule, *rest]]


def write(stem, **texts):
    """Write each text to STEM.md, STEM.tsv, .. whole or not at all: ``write(stem, md=..., tsv=...)``."""
    for ending, text in texts.items():
        partial = stem.with_name(f"{stem.name}.{ending}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(stem.with_name(f"{stem.name}.{ending}"))
