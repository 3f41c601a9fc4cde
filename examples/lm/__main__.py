"""The scripts of the language-model recipes: ``python -m examples.lm SCRIPT [ARGUMENT]...``."""

from examples.common.command_line import run_script
from examples.lm import steps
from examples.lm.reproduce import reproduce

run_script(
    {
        "prepare": steps.prepare,
        "train": steps.train,
        "evaluate": steps.evaluate,
        "analyse": steps.analyse,
        "reproduce": reproduce,
    }
)
