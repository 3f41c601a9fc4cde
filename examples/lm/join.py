"""Join tables of perplexities, of other systems or seeds, such as those of several machines.

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
    """The perplexities of a table, as the cells that a summary is made of."""
    return [
        {
            "name": row["system"],
            "pattern": row["pattern"],
            "length": int(length),
            "pair": int(seed),
            "perplexity": perplexity,
        }
        for row in record["texts"][text]["rows"]
        for length, number in row["values"].items()
        for seed, perplexity in by_seed(record, row["system"], number).items()
    ]


def by_seed(record, system, number):
    """{seed: perplexity} of a system; one seed has no other number than the mean."""
    (first, *others) = (run["seed"] for run in record["trainings"][system])
    return number["by_seed"] if others else {first: number["value"]}


def check(paths, records):
    """Raises InputError where tables do not fit together."""
    check_same(paths, records, SAME)
    for path, record in zip(paths, records):
        if record["measure"] != "perplexity":
            raise InputError(f"{path} is a table of {record['measure']}; join tables of perplexity")
        if lacks_seeds(record):
            raise InputError(f"{path} has the means of several seeds alone; make it again, or join its parts")
        if record["texts"].keys() != records[0]["texts"].keys():
            raise InputError(f"{path} and {paths[0]} have different texts; join tables of the same texts")
    runs = [
        [(system, f"seed {run['seed']}") for system, trained in record["trainings"].items() for run in trained]
        for record in records
    ]
    check_new(paths, runs)


def lacks_seeds(record):
    """Whether means are all that a table has, as those of earlier versions."""
    numbers = (number for text in record["texts"].values() for row in text["rows"] for number in row["values"].values())
    return any(number["seeds"] > 1 and "by_seed" not in number for number in numbers)


def joined_text(paths, records, text):
    """One text of the joined table."""
    of_text = [record["texts"][text] for record in records]
    check_same(paths, of_text, SAME_TEXT)
    baseline = of_text[0]["baseline"]
    cells = [cell for record in records for cell in cells_of(record, text)]
    measured = numbers({"kind": "extrapolation", "summary": summary(cells, baseline), "cells": cells})
    rows = {(row["row"], row["system"], row["pattern"]): row for part in of_text for row in part["rows"]}
    return {
        **{key: of_text[0][key] for key in SAME_TEXT},
        "rows": [{**row, "values": of_row(row, measured, row["pattern"])} for row in rows.values()],
    }


def join(paths):
    """The joined record.

    Args:
        paths: of tables of perplexities.

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
