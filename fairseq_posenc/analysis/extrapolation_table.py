"""The table of an extrapolation: a line a length, a column a system."""

from fairseq_posenc.analysis.extrapolation_results import BETTER, WORSE


def text_table(record):
    """Perplexities of a record of ``extrapolate``, with deviations and marks where there are several seeds."""
    rows = record["summary"]
    patterns = {row["pattern"] for row in rows}
    systems = list(dict.fromkeys((row["name"], row["pattern"]) for row in rows))
    cells = {(row["name"], row["pattern"], row["length"]): cell(row) for row in rows}
    header = ["length", *(name if len(patterns) == 1 else f"{name} {pattern}" for name, pattern in systems)]
    lines = [
        [str(length), *(cells.get((*system, length), "") for system in systems)]
        for length in sorted({row["length"] for row in rows})
    ]
    widths = [max(len(line[column]) for line in [header, *lines]) for column in range(len(header))]
    table = ["  ".join(text.rjust(width) for text, width in zip(line, widths)) for line in [header, *lines]]
    scored = record["cells"][0]["tokens"]
    notes = [f"perplexity a token, {record['protocol']['name']}, {scored:,} tokens scored at every length"]
    if record["text"]["trimmed"]:
        notes.append(f"the last {record['text']['trimmed']:,} tokens of the text left out: no multiple of the lengths")
    if any(row["mark"] for row in rows):
        notes.append(f"{record['baseline']} is significantly better ({BETTER}) or worse ({WORSE})")
    return "\n".join([*table, *notes])


def cell(row):
    """5.27, 5.27 ± 0.33, with the mark; "not finite" where a loss is not."""
    if row["perplexity"] is None:
        return "not finite"
    deviation = "" if row["deviation"] is None else f" ± {row['deviation']:.2f}"
    return f"{row['perplexity']:.2f}{deviation}{row['mark']}"
