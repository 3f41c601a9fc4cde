"""The options shared by the commands that read translations of several systems."""

import sys
from pathlib import Path

from fairseq_posenc.cli.renamed import add_old_name
from fairseq_posenc.errors import InputError
from fairseq_posenc.provenance import check_json_target


def add_translation_arguments(parser):
    """Add --ref, --hyp, --names and --json."""
    parser.add_argument("--ref", metavar="FILE", help="reference translations, raw text, one sentence per line")
    parser.add_argument(
        "--hyp",
        metavar="FILE",
        required=True,
        nargs="+",
        action="extend",
        help="translations, one file per system; the first is the baseline",
    )
    parser.add_argument(
        "--names",
        metavar="NAME",
        nargs="+",
        action="extend",
        help="names of the systems, in the order of --hyp (default: the file names)",
    )
    add_old_name(parser, "--name", "--names")
    parser.add_argument("--json", metavar="FILE", help="also write the scores, with command and versions, to this file")


def check_json_argument(args, *inputs):
    """Raise InputError if --json cannot be written or is one of the inputs (paths, or None)."""
    if args.json is None:
        return
    check_json_target(args.json)
    if Path(args.json).resolve() in [Path(path).resolve() for path in inputs if path is not None]:
        raise InputError(f"--json {args.json} would overwrite an input file; choose another name")


def print_notes(command, notes):
    """Print the warnings of a result to stderr, one line each."""
    for note in notes:
        print(f"fairseq-posenc {command}: note: {note}", file=sys.stderr)
