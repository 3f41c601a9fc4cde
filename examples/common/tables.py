"""What the tables of the recipes share: command line, summaries of training runs, output files, committed results."""

import argparse
import json
from pathlib import Path

from examples.common.command_line import positive
from examples.common.files import write_texts
from examples.common.training_log import training_summary
from examples.common.variables import read_table
from fairseq_posenc.provenance import check_json_target, write_json


def table_parser(description, home):
    """A parser with the arguments of every table; ``home`` is the help for the folder of its data."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path, help=home)
    parser.add_argument("output", type=Path, help="path of the table, without extension")
    parser.add_argument("--seeds", nargs="+", type=positive, default=[1])
    parser.add_argument("--paper", type=Path, help="TSV with the paper's numbers")
    return parser


def add_row_arguments(parser):
    """Add --rows, --only and --command, of the tables whose systems are the lines of a row file."""
    parser.add_argument("--rows", type=Path, required=True, help="TSV with name, encoding, options")
    parser.add_argument("--only", nargs="+", help="names of rows (default: all)")
    parser.add_argument("--command", help="the command to record (default: this one)")


def chosen_by(args):
    """The rows that these arguments name."""
    return [row for row in read_table(args.rows) if args.only is None or row["name"] in args.only]


def read_committed(folder, name):
    """A committed result, FOLDER/NAME.json."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def trained(folder, seed, home, name):
    """The summary of a training run, with its command.

    Args:
        folder: Path of the training run.
        home: Path of a folder above it, which the command names by its absolute path.
        name: what the summary has instead, below $WORK, so that it does not depend on the machine.
    """
    command = (folder / "command").read_text(encoding="utf-8").strip().replace(str(home), f"$WORK/{name}")
    return {"seed": seed, "command": command, **training_summary(folder / "train.log")}


def write_table(output, collect, text):
    """Write OUTPUT.json, OUTPUT.md and OUTPUT.tsv, and print the table.

    Args:
        collect: function that returns the record.
        text: module with ``as_markdown(record)``, ``as_tsv(record)`` and ``as_plain(record)``.
    """
    check_json_target(f"{output}.json")
    record = collect()
    write_json(f"{output}.json", record)
    write_texts(output, md=text.as_markdown(record), tsv=text.as_tsv(record))
    print(text.as_plain(record))
