"""The compiled parts of fairseq that its source release leaves out, and the models that need them."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

from tests.support.commands import TINY, TRAINING, fairseq, run, succeeded

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "build_extensions.py"


def built(part):
    reason = f"fairseq.{part} is not built: `fairseq-posenc doctor` says how to build it"
    return pytest.mark.skipif(importlib.util.find_spec(f"fairseq.{part}") is None, reason=reason)


@built("libnat")
def test_the_way_from_one_sentence_to_another():
    """Words to insert before, between and after those that are kept; then which are deleted. 1 is none."""
    from fairseq import libnat

    assert libnat.suggested_ed2_path([[5, 6, 7]], [[5, 7, 8, 9]], 1) == [[[1], [1], [1], [8, 9], [0, 1, 0]]]
    assert libnat.compute_ed2([[5, 6, 7]], [[5, 7, 8, 9]]) == [3]


@built("libnat")
@pytest.mark.parametrize("model", ["insertion", "levenshtein"])
def test_transformers_that_insert_and_delete_words(model, stock_data, tmp_path):
    task = ("--task", "translation_lev", "--criterion", "nat_loss", "--noise", "random_delete")
    options = (*TINY, *TRAINING, "--share-all-embeddings", "--max-update", "2", "--save-dir", tmp_path)
    joint = prepare_joint(stock_data, tmp_path)
    succeeded(fairseq("train", joint, "--arch", f"{model}_transformer", *task, *options))
    decoding = ("--path", tmp_path / "checkpoint_last.pt", "--task", "translation_lev", "--iter-decode-max-iter", "3")
    result = succeeded(fairseq("generate", joint, *decoding, "--beam", "1"))
    assert result.stdout.count("\nH-") == 20


def prepare_joint(data, folder):
    """The corpus with one dictionary for both sides."""
    prefixes = (f"--{split}pref" for split in ("train", "valid", "test"))
    files = [word for prefix, name in zip(prefixes, ("train", "valid", "test")) for word in (prefix, name)]
    options = ("-s", "src", "-t", "tgt", *files, "--joined-dictionary", "--destdir", folder / "joint")
    succeeded(fairseq("preprocess", *options, cwd=data.parent))
    return folder / "joint"


@built("libbase")
def test_a_balanced_assignment():
    """Every worker gets as many jobs, and the best in sum."""
    from fairseq import libbase

    scores = torch.tensor([[1.0, 0.0], [0.9, 0.0], [0.8, 0.5], [0.0, 0.1]])
    assert sorted(libbase.balanced_assignment(scores).view(2, 2).tolist()[0]) == [0, 1]


def test_building_without_a_source_says_so(tmp_path):
    result = run(sys.executable, SCRIPT, tmp_path)
    assert result.returncode == 1
    # PyTorch's builds for CUDA also write that there is no GPU.
    assert result.stderr.splitlines()[-1] == (
        f"error: {tmp_path}/fairseq/clib/libnat/edit_dist.cpp is missing; give the directory of fairseq's repository"
    )
