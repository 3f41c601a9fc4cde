"""The settings of the PosNet paper (Zhang et al., ACL 2023) and of smaller scales, and the names of files."""

import shlex
from dataclasses import replace

from examples.common import translation
from examples.common.files import ROOT
from examples.common.variables import RecipeSettings, choice, count, variable
from fairseq_posenc.errors import InputError

HERE = ROOT / "examples" / "wmt14"
BASELINE = "sinusoidal"
PAIRS = ("en-de", "en-fr")
SIZES = ("base", "big")
SETS = ("test", "valid", "joined")
#: Training texts: sentences as they are, or half of them joined (corpus/joined_training.py).
TEXTS = ("single", "joined")
#: {scale: its corpora, the default first}.
CORPORA = {"paper": ("wmt14",), "small": ("multi30k", "newstest"), "smoke": ("grammar",)}

#: {corpus: how many numbers ``--positions`` draws from, @reach in a row}: the smallest power of two from the limit of
#: translations of the longest test sentences on, eight joined ones. These have 174 subwords in Multi30k and 538 in
#: newstest (fewer with WMT14's larger vocabulary), the limits are 271 and 817, and training texts end at 251.
REACH = {"wmt14": 1024, "multi30k": 512, "newstest": 1024, "grammar": 256}

#: Batches of 4,096 tokens per update.
PAPER_BATCHES = 8
PAPER_SUBWORDS = 40_000
PAPER_TRAINING = (
    "--fp16 --lr 7e-4 --warmup-updates 4000 --warmup-init-lr 1e-7 --adam-eps 1e-9 "
    "--max-update 150000 --patience 30 --save-interval-updates 1000"
)
SMALL = translation.MULTI30K
SMALL_SAVING = "--save-interval-updates 200"
SMOKE_SENTENCES = 1000
SMOKE_TRAINING = (
    "--lr 5e-3 --warmup-updates 10 --clip-norm 1.0 --num-workers 0 --max-update 30 --save-interval-updates 6"
)
#: {(scale, size): model} of the smaller scales.
MODELS = {
    ("small", "base"): SMALL,
    ("small", "big"): replace(SMALL, layers=3, width=192, feed_forward=768),
    ("smoke", "base"): translation.Small(500, 1, 32, 64, 2, 1024, SMOKE_TRAINING),
    ("smoke", "big"): translation.Small(500, 2, 48, 96, 2, 1024, SMOKE_TRAINING),
}

#: Options of ``fairseq-posenc bench`` for time and memory of encodings. The batch at small scale is smaller than
#: the paper's, with which sixteen models would take half an hour on a CPU.
WORKLOADS = {
    "paper": {"forward": "--device cuda --sentences 128", "memory": "--device cuda --sentences 128"},
    "small": {"forward": "--sentences 8 --rounds 5", "memory": ""},
    "smoke": dict.fromkeys(
        ("forward", "memory"), "--size iwslt_de_en --vocabulary 500 --length 8 --sentences 2 --rounds 1"
    ),
}


def model_options(scale, size, pair, encoding):
    """Options of the model, as a list of arguments."""
    architecture = f"transformer_{encoding.replace('-', '_')}"
    if scale != "paper":
        return MODELS[scale, size].model(architecture)
    if size == "base":
        return ["--arch", f"{architecture}_wmt_en_de", "--dropout", "0.1"]
    dropout = "0.3" if pair == "en-de" else "0.1"
    return ["--arch", f"{architecture}_wmt_en_de_big", "--attention-dropout", "0.1", "--dropout", dropout]


def batch_options(scale, size, processes):
    """Options for the same number of tokens per update with any number of processes."""
    if scale != "paper":
        processes.one(scale)
        return ["--max-tokens", str(MODELS[scale, size].max_tokens)]
    if PAPER_BATCHES % processes.number:
        raise InputError(f"GPUS x NNODES = {processes.number} does not divide the {PAPER_BATCHES} batches of an update")
    frequency = PAPER_BATCHES // processes.number
    # Without --distributed-world-size, fairseq would use all visible GPUs.
    return shlex.split(f"--max-tokens 4096 --update-freq {frequency} --distributed-world-size {processes.number}")


def training_options(scale, size):
    """Options for the optimizer, the schedule and the length of the training."""
    if scale == "paper":
        return shlex.split(PAPER_TRAINING)
    return MODELS[scale, size].schedule() + shlex.split(SMALL_SAVING if scale == "small" else "")


def text_of(row):
    """The training text of a row, one of TEXTS. Raises InputError if it is none of them."""
    return choice(row.get("text") or TEXTS[0], TEXTS, f"{row['name']}: training text ")


class Settings(RecipeSettings):
    """Scale, corpus, folders, seed and set from the environment; ``corpus`` overrides CORPUS."""

    def __init__(self, corpus=None):
        super().__init__("wmt14")
        corpora = CORPORA[self.scale]
        self.corpus = corpus or variable("CORPUS", corpora[0])
        if self.corpus not in corpora:
            raise InputError(
                f"CORPUS={self.corpus} is not a corpus of SCALE={self.scale}; choose from {', '.join(corpora)}"
            )
        # Captions are not cleaned: they are short, and their lengths match.
        self.cleaned = self.corpus != "multi30k"
        # Only the default corpus of a scale has the folder of this scale; others have folders of their own.
        self.home = self.work / (self.scale if self.corpus == corpora[0] else f"{self.scale}-{self.corpus}")

        self.set = variable("SET", "test")
        if self.set not in SETS:
            raise InputError(f"SET={self.set} is not one of {', '.join(SETS)}")

    def pair(self, name):
        """The folder of a language pair."""
        choice(name, PAIRS, "language pair ")
        if name == "en-fr" and self.corpus == "grammar":
            raise InputError("SCALE=smoke has only en-de, because its text comes from a grammar")
        return self.home / name

    def system(self, name, pair, size, seed):
        """The folder of one trained system."""
        choice(size, SIZES, "size ")
        return self.pair(pair) / size / name / f"seed{count('SEEDS', seed)}"

    def training_text(self, text):
        """The subwords of a training text: the beginning of its files in the folder of a pair."""
        if text == "joined":
            return "joined-training/bpe.train"
        return "prepared/clean.train" if self.cleaned else "prepared/bpe.train"

    def binary_of(self, pair, text):
        """The folder of a pair's binary data with this training text."""
        return self.pair(pair) / ("binary" if text == "single" else "joined-training/binary")

    def row_options(self, row):
        """Options of fairseq-train that a row has. A table of all numbers needs twice as many for shifted sentences."""
        reach = REACH[self.corpus]
        options = (row["options"] or "").replace("@reach", str(reach)).replace("@table", str(2 * reach))
        return options.split()

    def binary(self, pair):
        """The folder of a pair's binary data. Raises InputError if it does not exist, unless DRY_RUN=1."""
        binary = self.pair(pair) / "binary"
        if not (self.dry_run or binary.is_dir()):
            raise InputError(
                f"no data in {binary}; run SCALE={self.scale} CORPUS={self.corpus} WORK={self.work} "
                f"{HERE}/prepare.sh {pair}"
            )
        return binary

    def translations(self, folder, part):
        """The output of fairseq-generate for a set, in the folder of a system."""
        return folder / ("generate.log" if part == "test" else f"generate-{part}.log")

    def raw(self, pair, part, language):
        """The raw text of a set in one language."""
        if part == "joined":
            return self.pair(pair) / "joined" / "raw" / f"test.{language}"
        return self.pair(pair) / "raw" / f"{part}.{language}"
