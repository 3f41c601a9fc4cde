"""Write a table of the language-model papers: one line per system, one column per length.

Reads the results of ``fairseq-posenc`` extrapolate, resolution or receptive-field for each text, and the logs of the
training runs. Writes OUTPUT.json, OUTPUT.md and OUTPUT.tsv, with the paper's numbers in tables of their own.
"""

from collections import defaultdict

from examples.common.command_line import positive, run_main
from examples.common.tables import table_parser, trained, write_table
from examples.lm import length_table_text
from fairseq_posenc.results import new_result, read_result
from fairseq_posenc.tables import groups, mean_and_deviation, read_tsv

#: {kind of a result: the measure that its table shows}.
MEASURES = {"extrapolation": "perplexity", "resolution": "resolution", "receptive-field": "erf"}


def numbers(record):
    """[{"name", "pattern", "length", "value", ..}]: means over seeds, with other fields of the table."""
    if record["kind"] == "extrapolation":
        kept, runs = ("name", "pattern", "length", "seeds", "deviation", "p", "mark"), defaultdict(dict)
        for cell in record["cells"]:
            runs[cell["name"], cell["pattern"], cell["length"]][str(cell["pair"])] = cell["perplexity"]
        found = []
        for row in record["summary"]:
            by_seed = runs[row["name"], row["pattern"], row["length"]]
            several = {"by_seed": by_seed} if len(by_seed) > 1 else {}  # which tables are joined by
            found.append({**{key: row[key] for key in kept}, "value": row["perplexity"], **several})
        return found
    measure, found = MEASURES[record["kind"]], []
    for (name, pattern, length), cells in groups(record["cells"], "name", "pattern", "length").items():
        mean, deviation = mean_and_deviation([cell[measure] for cell in cells])
        number = {"value": mean, "deviation": deviation, "p": None, "mark": ""}
        if "theoretical" in cells[0]:
            number["bound"] = cells[0]["theoretical"]
        if "mean_of_heads" in cells[0]:
            number["mean_of_heads"], _ = mean_and_deviation([cell["mean_of_heads"] for cell in cells])
        found.append({"name": name, "pattern": pattern, "length": length, "seeds": len(cells), **number})
    return found


def expanded(rows):
    """The rows of the table, one per pattern: dictionaries with row, system, pattern, paper_pattern."""
    found = []
    for label, system, patterns, paper_patterns in rows:
        pairs = list(zip(patterns.split(","), paper_patterns.split(",")))
        for pattern, paper_pattern in pairs:
            row = f"{label}, {pattern}" if len(pairs) > 1 else label
            found.append({"row": row, "system": system, "pattern": pattern, "paper_pattern": paper_pattern})
    return found


def of_row(row, found, pattern):
    """{length: numbers} of the system of a row, measured with this pattern or with that of the training."""
    mine = [number for number in found if number["name"] == row["system"]]
    return {
        int(number["length"]): {key: number[key] for key in number if key not in ("name", "pattern", "length")}
        for number in mine
        if pattern in (number["pattern"], "trained")
    }


def paper_texts(path, rows):
    """The paper's TSV file: {text: [{"row", "system", "values": {length: {"value", "deviation", "mark"}}}]}."""
    texts = {}
    for line in read_tsv(path):
        measure = next(key for key in MEASURES.values() if key in line)
        number = {"value": line[measure], "deviation": line.get("deviation", ""), "mark": line.get("mark", "")}
        texts.setdefault(line["result"], []).append(
            {"name": line["name"], "pattern": line["pattern"], "length": line["length"], **number}
        )
    return {
        text: [
            {"row": row["row"], "system": row["system"], "values": of_row(row, found, row["paper_pattern"])}
            for row in rows
            if of_row(row, found, row["paper_pattern"])
        ]
        for text, found in texts.items()
    }


def setting_of(record):
    """How a result was measured, for the notes below a table."""
    setting = {"text": record["text"], "precision": record["precision"]}
    if record["kind"] == "extrapolation":
        setting |= {
            "protocol": record["protocol"],
            "baseline": record["baseline"],
            "tokens": record["cells"][0]["tokens"],
        }
    for key in ("texts", "segments"):
        if key in record["cells"][0]:
            setting[key] = record["cells"][0][key]
    return setting


def collect(args):
    """The record of the table."""
    rows = expanded(args.row)
    texts, measure = {}, None
    for text, path in args.cells:
        record = read_result(args.home / path, MEASURES, "a table shows", "run evaluate.sh or analyse.sh first")
        measure, found = MEASURES[record["kind"]], numbers(record)
        texts[text] = {
            **setting_of(record),
            "rows": [{**row, "values": of_row(row, found, row["pattern"])} for row in rows],
        }
    systems = list(dict.fromkeys(row["system"] for row in rows))
    runs = {system: [run_summary(args, system, seed) for seed in args.seeds] for system in systems}
    record = {
        "table": args.output.name,
        "measure": measure,
        "scale": args.home.parent.name,
        "corpus": args.home.name,
        "settings": args.settings,
        "training_length": args.training_length,
        "seeds": args.seeds,
        "texts": texts,
        "trainings": runs,
        "paper": paper_texts(args.paper, rows) if args.paper else {},
        "paper_training_length": args.paper_training_length,
    }
    return {**new_result("length-table", record), "command": args.command}


def run_summary(args, system, seed):
    """Summary of a training run, with its command."""
    folder = args.home / args.settings / system / f"seed{seed}"
    return trained(folder, seed, args.home, f"{args.home.parent.name}/{args.home.name}")


def parse(argv):
    parser = table_parser(__doc__, home="folder of the corpus: $WORK/$SCALE/CORPUS")
    parser.add_argument("--settings", required=True, metavar="PAPER-SIZE", help="folder of the systems")
    parser.add_argument(
        "--row",
        nargs=4,
        action="append",
        required=True,
        metavar=("ROW", "SYSTEM", "PATTERN,..", "PAPER'S"),
        help="a row of the table, its patterns in the result and in the paper; repeat for more",
    )
    parser.add_argument(
        "--cells", nargs=2, action="append", required=True, metavar=("TEXT", "FILE"), help="the result on a text"
    )
    parser.add_argument("--training-length", type=positive, required=True, metavar="N")
    parser.add_argument("--paper-training-length", type=positive, required=True, metavar="N")
    parser.add_argument("--command", required=True, help="the command to record")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    write_table(args.output, lambda: collect(args), length_table_text)


if __name__ == "__main__":
    run_main(main)
