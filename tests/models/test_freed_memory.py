"""A process that loads the plugin keeps the memory that large tensors have freed."""

import os
import platform
import resource
import subprocess
import sys

import pytest
import torch

from tests.support.commands import ROOT

#: Makes and frees a tensor again and again; prints the median of how many pages the system gave out anew.
PROGRAM = """
import resource, torch
from argparse import Namespace
from fairseq.utils import import_user_module
{plugin}
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
counts = []
for _ in range(12):
    before = faults()
    torch.ones({numbers})
    counts.append(faults() - before)
print(sorted(counts)[6])
"""
PLUGIN = "import_user_module(Namespace(user_dir='fairseq_posenc'))"
NUMBERS = 2**24
PAGES = 4 * NUMBERS / resource.getpagesize()

pytestmark = [
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these settings"),
    pytest.mark.skipif(torch.cuda.is_available(), reason="with a GPU, they stay as they are"),
]


def pages_given_out(plugin, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    program = PROGRAM.format(plugin=plugin, numbers=NUMBERS)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**environment, **variables}, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def test_large_tensors_get_memory_that_the_process_has():
    if pages_given_out("") < 0.9 * PAGES:
        pytest.skip("this system gives out memory in larger pages")
    assert pages_given_out(PLUGIN) < 0.01 * PAGES


@pytest.mark.parametrize(
    "variables",
    [
        {"MALLOC_MMAP_THRESHOLD_": "1000000"},
        {"MALLOC_MMAP_MAX_": "1000"},
        {"MALLOC_TRIM_THRESHOLD_": "1000000"},
        {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=1000000"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_settings_of_the_user_hold(variables):
    assert pages_given_out(PLUGIN, **variables) == pytest.approx(pages_given_out("", **variables), rel=0.05, abs=100)
