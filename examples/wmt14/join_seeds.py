"""Join tables of the same systems with other seeds, such as those of several machines.

Writes OUTPUT.json, OUTPUT.tsv and OUTPUT.md with means, deviations and the weakest mark over all seeds.
"""

from examples.common.command_line import run_main
from examples.common.joining import check_new, check_same, join_parser, origins
from examples.common.tables import write_table
from examples.wmt14 import table_text
from examples.wmt14.table import summary
from fairseq_posenc.errors import InputError
from fairseq_posenc.results import new_result, read_result

#: What tables, their language pairs and their systems must have in common.
SAME = ("table", "scale", "size", "set", "levels")
SAME_PAIR = ("sentences", "official_sentences", "baseline", "signatures")
SAME_SYSTEM = ("encoding", "options", "parameters")


def names(record):
    """The names of a table's systems, by language pair."""
    return {name: [system["name"] for system in pair["systems"]] for name, pair in record["pairs"].items()}


def check(paths, records):
    """Raises InputError where tables do not fit together."""
    check_same(paths, records, SAME)
    for path, record in zip(paths, records):
        if names(record) != names(records[0]):
            raise InputError(f"{path} and {paths[0]} have different pairs or systems; join tables of the same systems")
    check_new(paths, [[(f"seed {seed}",) for seed in record["seeds"]] for record in records])


def joined_pair(paths, pairs):
    """One language pair of the joined table."""
    check_same(paths, pairs, SAME_PAIR)
    runs = {}
    for same in zip(*(pair["systems"] for pair in pairs)):
        check_same(paths, same, SAME_SYSTEM)
        trainings = [run for system in same for run in system["trainings"]]
        runs[same[0]["name"]] = sorted(trainings, key=lambda run: run["seed"])
    baseline = pairs[0]["baseline"]
    systems = [
        {**system, **summary(system["name"], runs[system["name"]], runs[baseline or system["name"]])}
        for system in pairs[0]["systems"]
    ]
    return {**{key: pairs[0][key] for key in SAME_PAIR}, "systems": systems}


def join(paths):
    """The joined record.

    Args:
        paths: of tables of systems.

    Raises:
        InputError: a file is no such table, tables differ in their systems, sentences, settings or baseline, or two of
            them have the same seed.
    """
    records = [
        read_result(path, ("table",), "can be joined", "make it with examples/wmt14/reproduce.sh") for path in paths
    ]
    check(paths, records)
    fields = {
        **{key: records[0][key] for key in SAME},
        "seeds": sorted(seed for record in records for seed in record["seeds"]),
        "pairs": {
            name: joined_pair(paths, [record["pairs"][name] for record in records]) for name in records[0]["pairs"]
        },
        "joined": [part for record in records for part in origins(record)],
    }
    return new_result("table", fields)


def main(argv=None):
    args = join_parser(__doc__).parse_args(argv)
    write_table(args.output, lambda: join(args.results), table_text)


if __name__ == "__main__":
    run_main(main)
