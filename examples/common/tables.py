"""What the tables of the recipes share: command line, summaries of training runs, output files."""

import argparse
from pathlib import Path

from examples.common.command_line import positive
from examples.common.files import write_texts
from examples.common.training_log import training_summary
from fairseq_posenc.provenance import check_json_target, write_json


def table_parser(description, home):
    """A parser with the arguments of every table; ``home`` is the help for the folder of its data."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path, help=home)
    parser.add_argument("output", type=Path, help="path of the table, without extension")
    parser.add_argument("--seeds", nargs="+", type=positive, default=[1])
    parser.add_argument("--paper", type=Path, help="TSV with the paper's numbers")
    return parser


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
