"""The scripts of the translation recipe: ``python -m examples.wmt14 SCRIPT [ARGUMENT]...``."""

from examples.common.command_line import run_script
from examples.wmt14 import steps
from examples.wmt14.reproduce import reproduce

run_script(
    {
        "prepare": steps.prepare,
        "train": steps.train,
        "generate": steps.generate,
        "score": steps.score,
        "joined": steps.joined,
        "reproduce": reproduce,
    }
)
