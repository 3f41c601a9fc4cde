"""The settings of the xPos and Sandwich papers (ACL 2023), fairseq's for WikiText-103, and those of smaller scales."""

import re
from dataclasses import dataclass

from examples.common.files import ROOT
from examples.common.variables import RecipeSettings, choice, count, plain_name, variable
from fairseq_posenc.errors import InputError

HERE = ROOT / "examples" / "lm"
SIZES = ("tiny", "base", "gpt2_medium", "wiki103")
OWN_CORPORA = ("stdlib", "wikitext-103", "wikitext-103-words")


@dataclass(frozen=True)
class Paper:
    """How the models of a paper were trained and evaluated.

    Args:
        size: size of the models.
        length: tokens per training sample.
        samples: samples per update.
        batch: samples that one GPU processes at a time.
        training: options for the optimizer, the schedule and the length of the training.
        protocol: default protocol of the perplexity.
        lengths: default lengths of the perplexity, in tokens.
    """

    size: str
    length: int
    samples: int
    batch: int
    training: str
    protocol: str = "pieces"
    lengths: tuple = (256, 512, 1024, 2048, 4096, 8192)


PAPERS = {
    # Sun et al. 2023, Table 7.
    "xpos": Paper(
        size="gpt2_medium",
        length=1024,
        samples=512,
        batch=8,
        training="--fp16 --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-6 --weight-decay 0.01 "
        "--clip-norm 2.0 --lr 3e-4 --lr-scheduler polynomial_decay --warmup-updates 20000 "
        "--total-num-update 50000 --max-update 50000",
    ),
    # Chi et al. 2023, Table 7; betas, clipping and schedule from the configuration that they published with KERPLE.
    "sandwich": Paper(
        size="base",
        length=512,
        samples=32,
        batch=32,
        training="--bf16 --optimizer adam --adam-betas '(0.9, 0.999)' --adam-eps 1e-8 --weight-decay 0.0 "
        "--clip-norm 1.0 --lr 6e-4 --lr-scheduler cosine --warmup-updates 500 --max-update 50000",
        protocol="last-token",
        lengths=(512, 1024, 2048, 4096, 8192),
    ),
    # fairseq's examples/language_model/README.adaptive_inputs.md, which is for 8 GPUs.
    "adaptive": Paper(
        size="wiki103",
        length=3072,
        samples=24,
        batch=1,
        training="--fp16 --optimizer nag --clip-norm 0.1 --lr 1.0 --min-lr 0.0001 --lr-scheduler cosine "
        "--t-mult 2 --lr-period-updates 270000 --lr-shrink 0.75 --warmup-updates 16000 "
        "--warmup-init-lr 1e-07 --stop-min-lr 1e-09 --max-update 286000 --ddp-backend legacy_ddp",
    ),
}
PAPER_SAVING = "--validate-interval-updates 5000 --save-interval-updates 5000"


@dataclass(frozen=True)
class Scale:
    """One scale: its text, the amount of text to measure on, and, except for the papers' scale, a tiny model.

    Args:
        corpus: default of CORPUS.
        shorter: the paper's length of training samples divided by that of this scale.
        held_out: characters of validation text, and of test text.
        long: documents of at least so many characters are held out first: 32 times the longest training length, with
            about four characters per subword.
        pieces: number of subwords that sentencepiece learns.
        tokens: tokens for the perplexity of text in pieces.
        segments: segments for the perplexity of last tokens.
        texts: texts for the attention resolution.
        gradients: segments for receptive fields.
        limit: characters of training text; 0 for all.
        model, batch, training: options of fairseq-train.
    """

    corpus: str
    shorter: int
    held_out: int
    long: int
    pieces: int
    tokens: int
    segments: int
    texts: int
    gradients: int
    limit: int = 0
    model: str = ""
    batch: str = ""
    training: str = ""


TINY_TRAINING = (
    "--optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --num-workers 0 --lr-scheduler polynomial_decay "
)
SCALES = {
    "paper": Scale(
        "wikitext-103", 1, 4_000_000, 131_072, 50_000, tokens=229_376, segments=1000, texts=8, gradients=100
    ),
    "small": Scale(
        *("stdlib", 4, 400_000, 32_768, 4000),
        tokens=49_152,
        segments=500,
        texts=8,
        gradients=100,
        batch="--max-tokens 2048",
        training=TINY_TRAINING + "--lr 2e-3 --warmup-updates 120 --total-num-update 1200 --max-update 1200 "
        "--validate-interval-updates 400 --save-interval-updates 400 --max-valid-steps 50",
    ),
    "smoke": Scale(
        *("stdlib", 32, 40_000, 4096, 500),
        tokens=16_384,
        segments=20,
        texts=2,
        gradients=4,
        limit=1_000_000,
        model="--decoder-layers 2 --decoder-embed-dim 32 --decoder-ffn-embed-dim 64 --decoder-attention-heads 2",
        batch="--max-tokens 512",
        training=TINY_TRAINING + "--lr 5e-3 --warmup-updates 5 --total-num-update 20 --max-update 20 "
        "--validate-interval-updates 10 --save-interval-updates 10 --max-valid-steps 4",
    ),
}


def batch_options(paper, processes, batch):
    """Options for the paper's number of samples per update, with any number of processes.

    Args:
        paper: Paper.
        processes: number of GPUs on all machines.
        batch: samples that one GPU processes at a time; fewer if an update has fewer per GPU.

    Raises:
        InputError: the samples of an update cannot be divided evenly.
    """
    at_once = processes * batch
    if at_once > paper.samples:
        batch, at_once = paper.samples // processes, paper.samples // processes * processes
    if at_once == 0 or paper.samples % at_once or at_once % processes:
        raise InputError(
            f"GPUS x NNODES = {processes} with BATCH={variable('BATCH', str(batch))} does not divide the "
            f"{paper.samples} samples of an update; change one"
        )
    # Without --distributed-world-size, fairseq would use all visible GPUs.
    options = f"--batch-size {batch} --update-freq {paper.samples // at_once} --distributed-world-size {processes}"
    return options.split()


def scaled(of, to, text):
    """``text`` with each @N, a length for training samples of ``of`` tokens, scaled to samples of ``to`` tokens."""
    return re.sub(r"@([0-9]+)", lambda found: str(max(1, (int(found[1]) * to + of // 2) // of)), text)


class Settings(RecipeSettings):
    """Scale, corpus, text, folders and seed from the environment; ``corpus`` overrides CORPUS."""

    def __init__(self, corpus=None):
        super().__init__("lm")
        self.scale_settings = SCALES[self.scale]
        self.corpus = plain_name("CORPUS", corpus or variable("CORPUS", self.scale_settings.corpus))
        self.text = plain_name("TEXT", variable("TEXT", "test"))

        self.home = self.work / self.scale / self.corpus

    def size(self, name):
        """The name of a size. Raises InputError if this scale does not have it."""
        choice(name, SIZES, "size ")
        if self.scale != "paper" and name != "tiny":
            raise InputError(f"SCALE={self.scale} trains size tiny, but size is {name}; give tiny, or SCALE=paper")
        return name

    def size_of(self, paper):
        return PAPERS[paper].size if self.scale == "paper" else "tiny"

    def length(self, paper):
        """The length of the training samples of a paper at this scale, in tokens."""
        return PAPERS[paper].length // self.scale_settings.shorter

    def scaled(self, paper, text):
        """``text`` with each @N, a length of the paper, scaled to this scale."""
        return scaled(PAPERS[paper].length, self.length(paper), text)

    def system(self, name, paper, size, seed):
        """The folder of one trained system."""
        return self.home / f"{paper}-{size}" / name / f"seed{count('SEEDS', seed)}"

    def binary(self, text="test"):
        """The folder of a text's binary data, relative to the folder of the corpus."""
        return "binary" if text == "test" else f"texts/{text}/binary"

    def preparation(self):
        """The arguments of prepare.sh for this corpus."""
        return [self.corpus] if self.corpus in OWN_CORPORA else ["documents", "--name", self.corpus, "--data", "DIR"]

    def check_binary(self):
        """Raise InputError if the corpus has no binary data, unless DRY_RUN=1."""
        if not (self.dry_run or (self.home / "binary").is_dir()):
            raise InputError(
                f"no data in {self.home}/binary; make it: SCALE={self.scale} WORK={self.work} {HERE}/prepare.sh "
                + " ".join(self.preparation())
            )
