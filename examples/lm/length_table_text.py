"""A table with one column per length: for the terminal, as Markdown, and as TSV."""

from fairseq_posenc.plots.length_rows import rows_of_table
from fairseq_posenc.results import result_tsv
from fairseq_posenc.tables import aligned, markdown, shown, t_test_marks

TITLES = {
    "perplexity": "perplexity",
    "resolution": "resolution",
    "erf": "empirical receptive field in tokens",
}
FORMS = {"perplexity": "{:.2f}", "resolution": "{:.4f}", "erf": "{:.0f}"}


def in_cell(number, form):
    """A number as text, such as 5.27 or 5.27 ± 0.33†; "-" if it was not measured, "not finite" if a loss was not."""
    if number is None:
        return shown(None, form)
    value = "not finite" if number["value"] is None else number["value"]
    return shown(value, form, number["deviation"], number["mark"])


def by_length(rows, measure, training_length, named=True, key="value"):
    """Rows of a table as lists of text, the header first: row, system, then one column per length.

    ``key`` selects the number to show; only "value" has a deviation and a mark.
    """
    lengths = sorted({length for row in rows for length in row["values"]}, key=int)
    header = ["row", *(["system"] if named else []), *(of_training(int(length), training_length) for length in lengths)]
    if any("bound" in number for row in rows for number in row["values"].values()):
        header.append("bound")
    lines = [header]
    for row in rows:
        line = [row["row"], *([system_of(row)] if named else [])]
        cells = [row["values"].get(length) for length in lengths]
        if key != "value":
            cells = [{"value": cell[key], "deviation": None, "mark": ""} if cell else None for cell in cells]
        line += [in_cell(cell, FORMS[measure]) for cell in cells]
        if header[-1] == "bound":
            bounds = {number["bound"] for number in row["values"].values()}
            line.append(", ".join(shown(bound, "{}") for bound in bounds))
        lines.append(line)
    return lines


def system_of(row):
    """The system of a row, and its pattern unless it is the usual one: sandwich; xpos under blockwise:256."""
    return row["system"] + ("" if row["pattern"] in ("full", "trained") else f" under {row['pattern']}")


def of_training(length, training_length):
    """A length, and how many times the training length it is: 256 (2x)."""
    return f"{length} ({length / training_length:g}x)"


def notes(record, text):
    """Lines below the table of one text: what was measured and how."""
    result = record["texts"][text]
    lines = []
    if "protocol" in result:
        protocol = result["protocol"]
        how = f"{protocol['name']}, {result['tokens']:,} tokens scored at every length"
        lines.append(f"perplexity per token, protocol {how}; lower is better")
    if record["measure"] == "resolution":
        lines.append(f"Eq 4, at most 1, on {result['texts']} texts; higher is better")
    if record["measure"] == "erf":
        lines.append(f"the most recent tokens with 99 % of the gradient, {result['segments']} segments")
    lines.append(
        f"scale: {record['scale']}; trained on {record['corpus']} with the settings {record['settings']}; "
        f"1x: the training length, {record['training_length']} tokens"
    )
    seeds = ", ".join(map(str, record["seeds"]))
    lines.append(f"seeds: {seeds}" + ("; mean ± standard deviation" if len(record["seeds"]) > 1 else ""))
    values = [number for row in result["rows"] for number in row["values"].values()]
    if any(number["mark"] for number in values):
        lines.append(t_test_marks(result["baseline"]))
    return lines


def parts(record):
    """[(title, rows of text, notes)]: our tables, then the paper's."""
    found = []
    what = TITLES[record["measure"]]
    for text, of_text in record["texts"].items():
        title = (
            f"{record['table']}: {what}, {text} text of {record['corpus']}"
            if text == "test"
            else (f"{record['table']}: {what}, {text}")
        )
        arguments = of_text["rows"], record["measure"], record["training_length"]
        found.append((title, by_length(*arguments), notes(record, text)))
        if record["measure"] == "resolution":
            found.append(
                (f"{title}, mean of the resolutions of single heads", by_length(*arguments, key="mean_of_heads"), [])
            )
    for text, rows in record["paper"].items():
        length = record["paper_training_length"]
        title = f"the paper's {record['table']}: {what}, {text} (1x: its training length, {length} tokens)"
        found.append((title, by_length(rows, record["measure"], length, named=False), []))
    return found


def as_plain(record):
    """For the terminal: aligned tables."""
    texts = []
    for title, rows, below in parts(record):
        texts.append("\n".join([title, *aligned(rows), *below]))
    return "\n\n".join(texts)


def as_markdown(record):
    texts = []
    for title, rows, below in parts(record):
        listed = [*([""] if below else []), *(f"- {note}" for note in below)]
        texts.append("\n".join([f"{title}:", "", *markdown(rows), *listed]))
    trained = [["system", "parameters", "updates", "validation loss (bits)", "tokens/s", "minutes"]]
    for system, runs in record["trainings"].items():
        first = runs[0]
        trained.append(
            [
                system,
                f"{first['parameters']:,}",
                f"{first['updates']:,}",
                f"{first['valid_losses'][-1][1]:.3f}",
                f"{first['words_per_second']:,}",
                f"{first['training_minutes']:.1f}",
            ]
        )
    texts.append("\n".join([f"training runs (seed {record['seeds'][0]}):", "", *markdown(trained)]))
    return "\n\n".join(texts) + "\n"


def as_tsv(record):
    """One line per number, not rounded; the paper's numbers have the owner "paper"."""
    return result_tsv("length-table", rows_of_table(record))
