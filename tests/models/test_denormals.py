"""Denormal numbers count as zero in all threads of a command, from the import of the plugin on."""

import os
import subprocess
import sys

import pytest

from tests.support.commands import ROOT

PROGRAM = """
import numpy, torch
from argparse import Namespace
from fairseq.utils import import_user_module
torch.set_num_threads(2)
print(torch.set_flush_denormal(False))  # whether the processor has such a mode
{plugin}
denormals = torch.full((4_000_000,), 1e-39)  # large enough for both threads
print((denormals * 0.5).count_nonzero().item())
numpy.finfo("float32").smallest_subnormal, str(numpy.finfo("float64"))
"""
PLUGIN = "import_user_module(Namespace(user_dir='fairseq_posenc'))"


def run(program):
    argv = [sys.executable, "-W", "error:The value of the smallest subnormal", "-c", program]
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    known, count = done.stdout.split()
    if known != "True":
        pytest.skip("this processor has no such mode")
    return int(count)


def test_all_threads_of_a_command_flush_them():
    assert run(PROGRAM.format(plugin="")) == 4_000_000
    assert run(PROGRAM.format(plugin=PLUGIN)) == 0
