"""Join tables of perplexities with one seed each, of other systems or seeds, such as those of several machines.

Writes OUTPUT.json, OUTPUT.tsv and OUTPUT.md with means, deviations and paired t-tests over the seeds. Rows stand in the
order in which the tables name them.
"""

from examples.common.command_line import run_main
from examples.common.joining import check_new, check_same, join_parser, origins
from examples.common.tables import write_table
from examples.lm import length_table_text
from examples.lm.length_table import numbers, of_row
from fairseq_posenc.analysis.extrapolation_summary import summary
from fairseq_posenc.errors import InputError
from fairseq_posenc.results import new_result, read_result

#: What tables, and their texts, must have in common.
SAME = ("table", "measure", "scale", "corpus", "settings", "training_length", "paper_training_length")
SAME_TEXT = ("text", "precision", "protocol", "baseline", "tokens")


def cells_of(record, text):
    """The perplexities of a table with one seed, as the cells that a summary is made of."""
    (seed,) = record["seeds"]
    return [
        {
            "name": row["system"],
            "pattern": row["pattern"],
            "length": int(length),
            "pair": seed,
            "perplexity": number["value"],
        }
        for row in record["texts"][text]["rows"]
        for length, number in row["values"].items()
    ]


def check(paths, records):
    """Raises InputError where tables do not fit together."""
    check_same(paths, records, SAME)
    for path, record in zip(paths, records):
        if record["measure"] != "perplexity" or len(record["seeds"]) != 1:
            raise InputError(
                f"{path} is a table of {record['measure']} with {len(record['seeds'])} seeds; join tables of "
                "perplexity with one seed each"
            )
        if record["texts"].keys() != records[0]["texts"].keys():
            raise InputError(f"{path} and {paths[0]} have different texts; join tables of the same texts")
    runs = [[(system, f"seed {record['seeds'][0]}") for system in record["trainings"]] for record in records]
    check_new(paths, runs)


def joined_text(paths, records, text):
    """One text of the joined table."""
    of_text = [record["texts"][text] for record in records]
    check_same(paths, of_text, SAME_TEXT)
    baseline = of_text[0]["baseline"]
    found = summary([cell for record in records for cell in cells_of(record, text)], baseline)
    measured = numbers({"kind": "extrapolation", "summary": found})
    rows = {(row["row"], row["system"], row["pattern"]): row for part in of_text for row in part["rows"]}
    return {
        **{key: of_text[0][key] for key in SAME_TEXT},
        "rows": [{**row, "values": of_row(row, measured, row["pattern"])} for row in rows.values()],
    }


def join(paths):
    """The joined record.

    Args:
        paths: of tables of perplexities with one seed each.

    Raises:
        InputError: a file is no such table, they differ in text, settings or baseline, or two of them have the same
            system with the same seed.
    """
    records = [
        read_result(path, ("length-table",), "can be joined", "make it with examples/lm/reproduce.sh") for path in paths
    ]
    check(paths, records)
    systems = dict.fromkeys(system for record in records for system in record["trainings"])
    runs = {
        system: sorted(
            (run for record in records for run in record["trainings"].get(system, ())), key=lambda run: run["seed"]
        )
        for system in systems
    }
    fields = {
        **{key: records[0][key] for key in SAME},
        "seeds": sorted({seed for record in records for seed in record["seeds"]}),
        "texts": {text: joined_text(paths, records, text) for text in records[0]["texts"]},
        "trainings": runs,
        "paper": records[0]["paper"],
        "joined": [origin for record in records for origin in origins(record)],
    }
    return new_result("length-table", fields)


def main(argv=None):
    args = join_parser(__doc__).parse_args(argv)
    write_table(args.output, lambda: join(args.results), length_table_text)


if __name__ == "__main__":
    run_main(main)
