"""The scorers of ``fairseq-generate --scoring``, with a model that stock fairseq trained on a handful of sentences."""

import os
import re
import subprocess
import sys

import pytest

from fairseq_posenc.scoring.generate_output import parse_generate_output
from fairseq_posenc.scoring.metrics import bleu_metric, chrf_metric, score

SENTENCES = [
    "der Hund sieht den Mann .",
    "die Frau sieht den Hund .",
    "der Mann liest ein Buch .",
    "ein Kind liest das gute Buch .",
    "die gute Frau lacht .",
    "das Kind sieht ein Buch , das gut ist .",
]
# More than the model has seen, so that it is right in part only.
TEST = SENTENCES + ["der Hund liest das gute Buch , das ein Kind sieht .", "den Mann sieht der Hund ."]

TRAIN = """
import os, sys
from fairseq_cli import preprocess, train
prefix, data, checkpoints = sys.argv[1:]
sys.argv = f"x -s src -t tgt --trainpref {prefix}train --validpref {prefix}test --testpref {prefix}test " \
    f"--destdir {data}".split()
preprocess.cli_main()
sys.argv = f"x {data} --arch transformer_iwslt_de_en --encoder-layers 1 --decoder-layers 1 --encoder-embed-dim 32 " \
    f"--decoder-embed-dim 32 --encoder-ffn-embed-dim 64 --decoder-ffn-embed-dim 64 --optimizer adam --lr 0.01 " \
    f"--criterion cross_entropy --max-tokens 400 --max-update 60 --save-dir {checkpoints} --no-epoch-checkpoints " \
    f"--disable-validation --no-progress-bar --seed 1 --cpu --dropout 0".split()
train.cli_main()
"""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a folder with binarised ``data``, ``checkpoints``, and ``scorers``, a --user-dir with nothing else."""
    folder = tmp_path_factory.mktemp("trained")
    for name, sentences in (("train", SENTENCES * 4), ("test", TEST)):
        for side in ("src", "tgt"):
            (folder / f"{name}.{side}").write_text("".join(line + "\n" for line in sentences), encoding="utf-8")
    run(sys.executable, "-c", TRAIN, f"{folder}/", folder / "data", folder / "checkpoints")
    (folder / "scorers").mkdir()
    (folder / "scorers" / "__init__.py").write_text("import fairseq_posenc.scoring.fairseq_scorers\n")
    return folder


LANGUAGES = ["--source-lang", "src", "--target-lang", "tgt"]


def generate(folder, *arguments):
    """Run fairseq-generate; return its sentences and what it prints as the score of the whole set."""
    program = os.path.join(os.path.dirname(sys.executable), "fairseq-generate")
    common = ["--path", folder / "checkpoints/checkpoint_last.pt", "--user-dir", folder / "scorers", "--cpu"]
    printed = run(program, folder / "data", *common, "--beam", "2", "--nbest", "2", *arguments).split("\n")
    (result,) = [line for line in printed if line.startswith("Generate test with beam=2: ")]
    return parse_generate_output(printed, "generate"), result.split(": ", 1)[1]


def test_chrf_plus_plus(trained):
    output, result = generate(trained, "--scoring", "chrfpp")
    metric = chrf_metric(output.references)
    wanted = score(metric, output.detokenized)
    assert output.references == TEST and 10 < wanted < 99
    assert result == f"chrF2++|{metric.get_signature()} = {wanted:.2f}"


def test_sacrebleu_with_signature_on_detokenised_text(trained):
    output, result = generate(trained, "--scoring", "sacrebleu_signature", "--tokenizer", "moses", *LANGUAGES)
    metric = bleu_metric(output.references)
    wanted = score(metric, output.detokenized)
    assert output.references[0] == "der Hund sieht den Mann." and 10 < wanted < 99
    assert result.startswith(f"BLEU|{metric.get_signature()} = {wanted:.2f} ")
    assert "|tok:13a|" in result


IN_PROCESS = """
import sys
import fairseq_posenc.scoring.fairseq_scorers
from fairseq import options, scoring
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
for words in sys.argv[1:]:
    args = options.parse_args_and_arch(options.get_generation_parser(), ["data", "--path", "x", *words.split()])
    scorer = scoring.build_scorer(convert_namespace_to_omegaconf(args).scoring, None)
    for pair in [("Der Hund, ja.", "der Hund, nein."), ("Zwei Tage", ""), ("", "drei drei@@ ")]:
        scorer.add_string(*pair)
    print(scorer.score(), scorer.result_string())
"""


def test_options_reach_the_signature():
    wanted = {
        "--scoring chrfpp": "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:",
        "--scoring chrfpp --chrf-eps-smoothing": "|eff:no|",
        "--scoring sacrebleu_signature --sacrebleu-lowercase": "|case:lc|eff:no|tok:13a|",
        "--scoring sacrebleu_signature --sacrebleu-tokenizer char": "|case:mixed|eff:no|tok:char|",
    }
    done = subprocess.run([sys.executable, "-c", IN_PROCESS, *wanted], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr[-3000:]
    for part, line in zip(wanted.values(), done.stdout.strip().split("\n")):
        value, result = line.split(" ", 1)
        assert part in result
        assert f"{float(value):.2f}" == re.search(r" = ([\d.]+)", result)[1]
    assert done.stderr.count("use --remove-bpe") == len(wanted)
