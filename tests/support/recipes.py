"""Runs the scripts of the recipes."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WMT14 = ROOT / "examples" / "wmt14"
LM = ROOT / "examples" / "lm"
LENGTH = ROOT / "examples" / "length"

#: Variables that the scripts read: none of the caller's may reach them.
VARIABLES = (
    *("SCALE", "CORPUS", "TEXT", "PAPER", "WORK", "DRY_RUN", "SEED", "SEEDS", "SET", "VENV", "QUIET", "JOBS"),
    *("WORKERS", "NAME", "AVERAGE", "JSON", "SIZE", "BATCH", "TOKENS", "DEVICE"),
    *("GPUS", "NNODES", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"),
)


def clean_environment(**variables):
    """The environment of a script, with these variables and none of the caller's."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    environment |= {"VENV": sys.prefix, "WORKERS": "1", "OMP_NUM_THREADS": "1"}
    return environment | {name: str(value) for name, value in variables.items()}


def run_script(script, *arguments, **variables):
    """Run a script; return the finished process with its output."""
    command = ["bash", str(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=clean_environment(**variables))


def commands(output):
    """The commands of a dry run as lists of words, comments left out."""
    return [shlex.split(line) for line in output.split("\n") if line and not line.startswith("#")]


def parse(words):
    """Let fairseq's parser for the command have its words; return what it made of them."""
    from fairseq import options

    parser = {
        "fairseq-train": options.get_training_parser,
        "fairseq-generate": options.get_generation_parser,
        "fairseq-interactive": lambda: options.get_generation_parser(interactive=True),
        "fairseq-eval-lm": options.get_eval_lm_parser,
        "fairseq-preprocess": options.get_preprocessing_parser,
    }[words[0]]
    words = words[1 : words.index(">")] if ">" in words else words[1:]
    user_dir = ["--user-dir", "fairseq_posenc"]
    if parser is options.get_preprocessing_parser:
        return parser().parse_args(words)
    before, sys.argv = sys.argv, ["fairseq", *user_dir]  # parsers load --user-dir from the command line itself
    try:
        return options.parse_args_and_arch(parser(), words)
    finally:
        sys.argv = before


def table(path):
    """The lines of a TSV file, as dictionaries."""
    header, *lines = [line.split("\t") for line in path.read_text().split("\n")[:-1]]
    assert {len(line) for line in lines} == {len(header)}
    return [dict(zip(header, line)) for line in lines]


def rows(recipe, name):
    """The rows of a row file: one dictionary per system or line of a table."""
    return table(recipe / "rows" / f"{name}.tsv")


def names(name):
    """The systems of a row file of wmt14."""
    return [row["name"] for row in rows(WMT14, name)]


def processes(text):
    """Ids of the running processes with the text in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (folder / "cmdline").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
        except OSError:
            continue
    return found
