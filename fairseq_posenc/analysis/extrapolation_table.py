"""The table of an extrapolation: one line per length, one column per system."""

from fairseq_posenc.tables import aligned, shown, t_test_marks


def text_table(record):
    """The perplexities in a record of ``extrapolate``, with deviations and marks if there are several seeds."""
    rows = record["summary"]
    patterns = {row["pattern"] for row in rows}
    systems = list(dict.fromkeys((row["name"], row["pattern"]) for row in rows))
    cells = {(row["name"], row["pattern"], row["length"]): perplexity(row) for row in rows}
    header = ["length", *(name if len(patterns) == 1 else f"{name} {pattern}" for name, pattern in systems)]
    lines = [
        [str(length), *(cells.get((*system, length), "") for system in systems)]
        for length in sorted({row["length"] for row in rows})
    ]
    scored = record["cells"][0]["tokens"]
    notes = [f"perplexity per token, {record['protocol']['name']}, {scored:,} tokens scored at every length"]
    if record["text"]["trimmed"]:
        notes.append(
            f"without the last {record['text']['trimmed']:,} tokens of the text, which fill no piece of every length"
        )
    if any(row["mark"] for row in rows):
        notes.append(t_test_marks(record["baseline"]))
    return "\n".join([*aligned([header, *lines], left=0), *notes])


def perplexity(row):
    """5.27 or 5.27 ± 0.33, with the mark; "not finite" if a loss is not finite."""
    value = "not finite" if row["perplexity"] is None else row["perplexity"]
    return shown(value, "{:.2f}", row["deviation"], row["mark"])
