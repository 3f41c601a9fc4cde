"""A recipe's table by length as rows. It does not import matplotlib, so that the recipes can write TSV without it."""

COLUMNS = {
    "owner": str,
    "text": str,
    "row": str,
    "system": str,
    "pattern": str,
    "length": int,
    "measure": str,
    "value": float,
    "deviation": float,
    "p": float,
    "mark": str,
    "training_length": int,
}
REQUIRED = ("owner", "text", "row", "length", "measure")


def rows_of_table(record):
    """Return a row for each number, with ``owner`` "ours" or "paper".

    ``value`` is None if it is not finite, or if the paper gives a bound instead of a number.
    """
    owners = [("ours", text, of_text["rows"]) for text, of_text in record["texts"].items()]
    owners += [("paper", text, of_text) for text, of_text in record["paper"].items()]
    trained = {"ours": record["training_length"], "paper": record["paper_training_length"]}
    return [
        {
            "owner": owner,
            "text": text,
            "row": row["row"],
            "system": row["system"],
            "pattern": row.get("pattern"),
            "length": int(length),
            "measure": record["measure"],
            "value": number_in(cell["value"]),
            "deviation": number_in(cell["deviation"]),
            "p": cell.get("p"),
            "mark": cell["mark"] or None,
            "training_length": trained[owner],
        }
        for owner, text, of_text in owners
        for row in of_text
        for length, cell in sorted(row["values"].items(), key=lambda item: int(item[0]))
    ]


def number_in(value):
    """Convert a number or a string from a paper to float; None if it is no number, such as "below 512"."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
