"""fairseq-train with --fp16 and gradient accumulation on generated data: words per second and peak memory."""

import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from fairseq.data.indexed_dataset import make_builder

from fairseq_posenc.analysis.build import architecture, dictionary
from fairseq_posenc.analysis.gpu_check.cases import STOCK, TRANSLATION

TITLE = "training: fairseq-train on generated data, systems taking turns"
ROUNDS = 2
#: An encoding without cost, one with a bias, one with a learned bias; on a CPU one is enough to show that it runs.
SYSTEMS = {"cuda": ("sinusoidal", "alibi", "t5"), "cpu": ("alibi",)}
COMMON = """
    --share-all-embeddings --criterion label_smoothed_cross_entropy --label-smoothing 0.1 --optimizer adam --lr 5e-4
    --lr-scheduler inverse_sqrt --warmup-updates 4000 --no-save --disable-validation --log-format json --seed 1
    --distributed-world-size 1
"""
BASE = "--fp16 --max-tokens 4096 --update-freq 8 --max-update 40 --log-interval 5"
TINY = """
    --encoder-embed-dim 32 --decoder-embed-dim 32 --encoder-ffn-embed-dim 32 --decoder-ffn-embed-dim 32
    --encoder-layers 1 --decoder-layers 1 --cpu --num-workers 0 --max-tokens 200 --update-freq 2 --max-update 8
    --log-interval 2
"""
# fairseq resets the peak at every update; without the reset it covers the whole run.
COMMAND = """
import torch
from fairseq_cli.train import cli_main
from fairseq_posenc.analysis.peak_memory import peak_of_process
torch.cuda.reset_peak_memory_stats = lambda *args: None
cli_main()
print("peak_bytes", torch.cuda.max_memory_allocated() if torch.cuda.is_available() else peak_of_process())
"""


def rows(sizes, systems, families):
    names = [name for name in systems if name in (STOCK, *SYSTEMS[sizes.device])] if TRANSLATION in families else []
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder), vocab_size=32_000 if sizes.base else 100, pairs=50_000 if sizes.base else 300)
        for turn in range(ROUNDS):
            for name in names:
                yield {"system": name, "round": turn + 1, **train(folder, name, sizes)}


def write_data(folder, vocab_size, pairs):
    """Write binarised sentence pairs of random tokens, as fairseq-preprocess does."""
    generator = torch.Generator().manual_seed(0)
    for language in ("src", "tgt"):
        dictionary(vocab_size).save(str(folder / f"dict.{language}.txt"))
        for split, count in (("train", pairs), ("valid", 10)):
            prefix = folder / f"{split}.src-tgt.{language}"
            builder = make_builder(f"{prefix}.bin", "mmap", vocab_size=vocab_size + 4)
            for length in torch.randint(10, 50, (count,), generator=torch.Generator().manual_seed(1)).tolist():
                sentence = torch.randint(4, 4 + vocab_size, (length,), generator=generator)
                sentence[-1] = 2
                builder.add_item(sentence)
            builder.finalize(f"{prefix}.idx")


def flags(name, sizes):
    """The arguments of fairseq-train after the data folder."""
    size = "wmt_en_de" if sizes.base else "iwslt_de_en"
    if name == STOCK:
        model = ["--arch", f"transformer_{size}"]
    else:
        model = ["--user-dir", str(Path(__file__).parents[2]), "--arch", architecture(name, size)]
    return [*model, *COMMON.split(), *(BASE if sizes.base else TINY).split()]


def train(folder, name, sizes):
    """{"words_per_second": median over the log's intervals without the first two, "peak_bytes"}."""
    command = [sys.executable, "-W", "ignore", "-c", COMMAND, folder, *flags(name, sizes)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return {"words_per_second": None, "peak_bytes": None, "error": last}
    log = [json.loads(text) for text in re.findall(r"train_inner \| (\{.*\})", done.stdout + done.stderr)]
    return {
        "words_per_second": statistics.median(float(entry["wps"]) for entry in log[2:]),
        "peak_bytes": int(re.search(r"^peak_bytes (\d+)", done.stdout, re.MULTILINE).group(1)),
    }


def line(row):
    if row["words_per_second"] is None:
        return f"{row['system']:<18} round {row['round']}  FAILED: {row['error']}"
    return (
        f"{row['system']:<18} round {row['round']}  {row['words_per_second']:>9.0f} words/s"
        f"  peak {row['peak_bytes'] / 2**20:>8.1f} MiB"
    )
