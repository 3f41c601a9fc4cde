"""The tokenised compound-split BLEU is that of fairseq's compound_split_bleu.sh: perl, then fairseq-score.

Its hashes of n-grams do not collide in these texts.
"""

import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_posenc.scoring.tokenized_bleu import split_compounds, tokenized_bleu, tokenized_bleu_metric

FAIRSEQ_SCORE = Path(sys.executable).with_name("fairseq-score")
PERL = "s{(\\S)-(\\S)}{$1 ##AT##-##AT## $2}g"


def test_compounds():
    assert split_compounds("the state-of-the-art well-known") == (
        "the state ##AT##-##AT## of ##AT##-##AT## the ##AT##-##AT## art well ##AT##-##AT## known"
    )
    assert split_compounds("- a -b c- --") == "- a -b c- --"


def test_overlapping_matches_as_in_perl():
    # "b" went into the first match, so that the second hyphen has nothing before it.
    assert split_compounds("a-b-c") == "a ##AT##-##AT## b-c"
    assert split_compounds("a--b") == "a ##AT##-##AT## -b"
    # perl reads bytes: the second byte of "é" is free for a second match.
    assert split_compounds("a-é-c") == "a ##AT##-##AT## é ##AT##-##AT## c"
    assert split_compounds("a\u00a0-b") == "a\u00a0 ##AT##-##AT## b"


def random_lines(count, seed):
    """Sentences that agree now and then, with hyphens, non-ASCII, empty lines and fairseq's special words."""
    rng = random.Random(seed)
    words = [
        "a",
        "b-c",
        "d-e-f",
        "é-è-ê",
        "x--y",
        "-",
        "x\u00a0-y",
        "<unk>",
        "</s>",
        "<pad>",
        "<s>",
        "der",
        "Test",
        ".",
    ]
    return [" ".join(rng.choices(words, k=rng.choice([0, 1, 2, 3, 9, 9, 20]))) for _ in range(count)]


@pytest.fixture
def files(tmp_path):
    """Return a function: writes two lists of lines as tmp_path/hyp and tmp_path/ref."""

    def write(hypotheses, references):
        for name, lines in (("hyp", hypotheses), ("ref", references)):
            (tmp_path / name).write_bytes(("\n".join(lines) + "\n").encode("utf-8"))
        return tmp_path / "hyp", tmp_path / "ref"

    return write


@pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")
def test_splitting_equals_perl(files):
    lines = random_lines(300, seed=1)
    path, _ = files(lines, lines)
    done = subprocess.run(["perl", "-ple", PERL, str(path)], capture_output=True, check=True)
    assert [split_compounds(line) for line in lines] == done.stdout.decode("utf-8").split("\n")[:-1]


def fairseq_score(hypothesis_file, reference_file):
    done = subprocess.run(
        [str(FAIRSEQ_SCORE), "--sys", str(hypothesis_file), "--ref", str(reference_file)],
        capture_output=True,
        text=True,
        env={"OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"},
    )
    assert done.returncode == 0, done.stderr
    return re.search(r"BLEU4 = ([\d.]+),", done.stdout)[1]


def ours(hypotheses, references):
    return f"{tokenized_bleu(tokenized_bleu_metric(references), hypotheses):.2f}"


def test_equals_fairseq_score_on_odd_lines(files):
    references = random_lines(400, seed=2)
    # Every other hypothesis is a reference with its last word off, so that longer n-grams match as well.
    hypotheses = [
        other if number % 2 else " ".join(line.split()[:-1])
        for number, (line, other) in enumerate(zip(references, random_lines(400, seed=3)))
    ]
    split = [[split_compounds(line) for line in lines] for lines in (hypotheses, references)]
    wanted = fairseq_score(*files(*split))
    assert ours(hypotheses, references) == wanted
    assert 10 < float(wanted) < 90


def test_equals_fairseq_score_on_a_published_system(oracle, files):
    references = oracle("wmt17-en-de/newstest2017.ref.de.gz")
    hypotheses = oracle("wmt17-en-de/newstest2017.LIUM-NMT.4900.hyp.gz")
    split = [[split_compounds(line) for line in lines] for lines in (hypotheses, references)]
    assert split[1] != references
    assert ours(hypotheses, references) == fairseq_score(*files(*split))


def test_no_match_of_four_words_is_zero():
    assert ours(["a b c d"], ["a b c e"]) == "0.00"
