"""fairseq-train with --fp16 and gradient accumulation on generated data: words per second and peak memory.

Systems of this package train with its criterion and optimizer, stock fairseq with its own.
"""

import tempfile
from pathlib import Path

from fairseq_posenc.analysis.build import architecture
from fairseq_posenc.analysis.commands.arguments import PLUGIN, TRAINING
from fairseq_posenc.analysis.commands.data import write_pairs
from fairseq_posenc.analysis.commands.output import training_speed
from fairseq_posenc.analysis.commands.process import CommandFailed, run
from fairseq_posenc.analysis.gpu_check.cases import STOCK, TRANSLATION

TITLE = "training: fairseq-train on generated data, systems taking turns"
ROUNDS = 2
#: An encoding without cost, one with a bias, one with a learned bias; on a CPU one is enough to show that it runs.
SYSTEMS = {"cuda": ("sinusoidal", "alibi", "t5"), "cpu": ("alibi",)}
COMMON = "--share-all-embeddings --label-smoothing 0.1 --no-save"
BASE = "--fp16 --max-tokens 4096 --update-freq 8 --max-update 20 --log-interval 2"
TINY = """
    --encoder-embed-dim 32 --decoder-embed-dim 32 --encoder-ffn-embed-dim 32 --decoder-ffn-embed-dim 32
    --encoder-layers 1 --decoder-layers 1 --cpu --num-workers 0 --max-tokens 200 --update-freq 2 --max-update 8
    --log-interval 2
"""


def rows(sizes, systems, families):
    names = [name for name in systems if name in (STOCK, *SYSTEMS[sizes.device])] if TRANSLATION in families else []
    with tempfile.TemporaryDirectory() as folder:
        vocab_size, pairs = (32_000, 50_000) if sizes.base else (100, 300)
        write_pairs(Path(folder), vocab_size, longest=50, counts={"train": pairs, "valid": 10})
        for turn in range(ROUNDS):
            for name in names:
                yield {"system": name, "round": turn + 1, **train(folder, name, sizes)}


def flags(name, sizes):
    """The arguments of fairseq-train after the data folder."""
    size = "wmt_en_de" if sizes.base else "iwslt_de_en"
    if name == STOCK:
        own = ["--arch", f"transformer_{size}", "--criterion", "label_smoothed_cross_entropy", "--optimizer", "adam"]
    else:
        own = ["--user-dir", PLUGIN, "--arch", architecture(name, size)]
        own += ["--criterion", "sliced_label_smoothed_cross_entropy", "--optimizer", "fused_adam"]
    return [*own, *TRAINING.split(), *COMMON.split(), *(BASE if sizes.base else TINY).split()]


def train(folder, name, sizes):
    """{"words_per_second": median over the log's intervals without the first two, "peak_bytes"}."""
    try:
        done = run("train", [folder, *flags(name, sizes)], sizes.device)
    except CommandFailed as error:
        return {"words_per_second": None, "peak_bytes": None, "error": str(error)}
    return {"words_per_second": training_speed(done.output)["rate"], "peak_bytes": done.report["peak_bytes"]}


def line(row):
    if row["words_per_second"] is None:
        return f"{row['system']:<18} round {row['round']}  FAILED: {row['error']}"
    return (
        f"{row['system']:<18} round {row['round']}  {row['words_per_second']:>9.0f} words/s"
        f"  peak {row['peak_bytes'] / 2**20:>8.1f} MiB"
    )
