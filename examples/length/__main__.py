"""The script of the length recipe: ``python -m examples.length reproduce [ARGUMENT]...``."""

from examples.common.command_line import run_script
from examples.length.reproduce import reproduce

run_script({"reproduce": reproduce})
