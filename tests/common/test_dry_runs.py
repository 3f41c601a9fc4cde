"""Slow: every command that DRY_RUN=1 prints, of every result at every scale, is one that its parser takes."""

import argparse
import importlib
import re

import pytest

from fairseq_posenc.cli import COMMANDS
from tests.support.recipes import LENGTH, LM, WMT14, commands, parse, run_script, table

SCALES = {WMT14: ("smoke", "small", "paper"), LM: ("smoke", "small", "paper"), LENGTH: ("smoke", "small")}
RUNS = [
    (recipe, line["name"], scale)
    for recipe, scales in SCALES.items()
    for line in table(recipe / "results.tsv")
    for scale in scales
]
#: What was parsed already: seeds and results have many commands in common.
parsed = set()


def own(words):
    """Let the parser of a command of fairseq-posenc have its words."""
    parser = argparse.ArgumentParser()
    importlib.import_module(COMMANDS[words[1]][0]).add_arguments(parser)
    return parser.parse_args(words[2:])


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "what", "scale"), RUNS, ids=lambda value: getattr(value, "name", value))
def test_every_command_is_one_that_its_parser_takes(recipe, what, scale, tmp_path_factory):
    work = tmp_path_factory.getbasetemp() / "my work"  # a space, as folders have
    run = run_script(recipe / "reproduce.sh", what, DRY_RUN=1, SCALE=scale, WORK=work)
    assert run.returncode == 0, run.stderr
    assert not work.exists()
    for words in commands(run.stdout):
        if "fairseq-train" in words:  # torchrun may start it
            words = words[words.index("fairseq-train") :]
        key = re.sub(r"seed[0-9]+", "seed", " ".join(words))
        if words[0].startswith("fairseq-") and key not in parsed:
            assert own(words) if words[0] == "fairseq-posenc" else parse(words)
            parsed.add(key)
