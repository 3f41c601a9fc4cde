"""Join tables of bands of lengths with other systems, such as those of several machines.

Writes OUTPUT.json, OUTPUT.tsv and OUTPUT.md, with the systems in the order of the row file. Each table has the
baseline, which its marks compare with; the joined table shows that of the first one.
"""

from pathlib import Path

from examples.common.command_line import run_main
from examples.common.joining import check_new, check_same, join_parser, origins
from examples.common.tables import write_table
from examples.common.variables import read_table
from examples.wmt14 import bands_text
from fairseq_posenc.errors import InputError
from fairseq_posenc.results import new_result, read_result

#: What tables must have in common.
SAME = ("table", "scale", "pair", "size", "seeds", "signatures", "bootstrap", "longest_trained", "bands")


def join(paths, rows):
    """The joined record.

    Args:
        paths: of tables of bands.
        rows: Path of the row file.

    Raises:
        InputError: a file is no such table, tables differ in their sentences, seeds or baseline, two of them have the
            same system, or a system has no row.
    """
    records = [
        read_result(path, ("length-bands",), "can be joined", "make it with examples/wmt14/reproduce.sh")
        for path in paths
    ]
    check_same(paths, records, SAME)
    if records[0]["bootstrap"] is None:
        raise InputError(f"{paths[0]} has one system, so no baseline; run each part with the baseline")
    baseline = records[0]["bootstrap"]["baseline"]
    others = [[(system["name"],) for system in record["systems"] if system["name"] != baseline] for record in records]
    check_new(paths, others)
    found = {}
    for record in records:
        for system in record["systems"]:
            found.setdefault(system["name"], system)
    order = [row["name"] for row in read_table(rows)]
    for name in found:
        if name not in order:
            raise InputError(f"{rows} has no row {name}; give the row file of the tables")
    fields = {
        **{key: records[0][key] for key in SAME},
        "systems": [found[name] for name in order if name in found],
        "joined": [origin for record in records for origin in origins(record)],
    }
    return new_result("length-bands", fields)


def main(argv=None):
    parser = join_parser(__doc__)
    parser.add_argument("--rows", type=Path, required=True, help="TSV with the rows of the table")
    args = parser.parse_args(argv)
    write_table(args.output, lambda: join(args.results, args.rows), bands_text)


if __name__ == "__main__":
    run_main(main)
