"""What the recipes share: preparation of parallel text, commands of fairseq, settings of small translation models."""

import shlex
from dataclasses import dataclass

from examples.common.commands import Command
from examples.common.files import ROOT, cksum
from examples.common.step import Step, mark

SPLITS = ("train", "valid", "test")
#: Criterion and optimizer: fairseq's, and those with the same numbers in less time.
STOCK = ("label_smoothed_cross_entropy", "adam")
FAST = ("sliced_label_smoothed_cross_entropy", "fused_adam")


@dataclass(frozen=True)
class Small:
    """A small model and its training.

    Args:
        subwords: number of BPE merges, learned on both languages.
        layers, width, feed_forward, heads: of the encoder and of the decoder.
        max_tokens: tokens per batch.
        training: options of fairseq-train: learning rate, schedule, and the number of updates if ``epochs`` is 0.
        epochs: length of the training.
    """

    subwords: int
    layers: int
    width: int
    feed_forward: int
    heads: int
    max_tokens: int
    training: str
    epochs: int = 0

    def schedule(self, epochs=None):
        """Options of the training; ``epochs`` replaces its length."""
        epochs = epochs or self.epochs
        return shlex.split(self.training) + (["--max-epoch", str(epochs)] if epochs else [])

    def model(self, architecture):
        """Options of the model; ``architecture`` is a name without the size, such as ``transformer_rope``."""
        argv = ["--arch", f"{architecture}_iwslt_de_en", "--dropout", "0.1"]
        for side in ("encoder", "decoder"):
            argv += [f"--{side}-layers", self.layers, f"--{side}-embed-dim", self.width]
            argv += [f"--{side}-ffn-embed-dim", self.feed_forward, f"--{side}-attention-heads", self.heads]
        return [str(argument) for argument in argv]


#: For the 29,000 captions of Multi30k.
MULTI30K = Small(
    subwords=4000,
    layers=2,
    width=128,
    feed_forward=512,
    heads=4,
    max_tokens=2048,
    training="--lr 5e-3 --warmup-updates 800 --clip-norm 1.0 --num-workers 0",
    epochs=12,
)


def train_command(launcher, binary, pair, model, batch, training, save_dir, saving, how=STOCK):
    """The fairseq-train command of one translation system; ``how``: its criterion and optimizer."""
    source, target = pair.split("-")
    criterion, optimizer = how
    return [
        *launcher,
        binary,
        *("--source-lang", source, "--target-lang", target, "--user-dir", "fairseq_posenc"),
        *model,
        *shlex.split(
            f"--share-all-embeddings --criterion {criterion} --label-smoothing 0.1 "
            f"--optimizer {optimizer} --adam-betas '(0.9, 0.98)' --lr-scheduler inverse_sqrt"
        ),
        *batch,
        *training,
        *saving,
        *("--save-dir", save_dir, "--log-format", "json", "--no-progress-bar"),
    ]


def generate_command(binary, pair, path, options, pieces="subword_nmt"):
    """The fairseq-generate command of one system, which prints detokenised text in its D- lines."""
    source, target = pair.split("-")
    return [
        *("fairseq-generate", binary, "--source-lang", source, "--target-lang", target),
        *("--user-dir", "fairseq_posenc", "--path", path, *options),
        *("--post-process", pieces, "--tokenizer", "moses"),
    ]


class Preparation:
    """Steps from raw/SPLIT.LANGUAGE to binary data: Moses tokens, subwords, cleaning, fairseq-preprocess.

    Args:
        pair: languages, such as en-de.
        raw, prepared, binary: Paths of folders.
        workers: number of processes.
        subwords: number of merges or pieces.
        bpe: subword_nmt or sentencepiece.
        clean: whether pairs of sentences with very different lengths are removed from the training text.
    """

    def __init__(self, pair, raw, prepared, binary, workers, subwords, bpe="subword_nmt", clean=False):
        self.pair, self.raw, self.prepared, self.binary = pair, raw, prepared, binary
        self.workers, self.subwords, self.bpe, self.clean = str(workers), str(subwords), bpe, clean
        self.model = prepared / ("bpe.codes" if bpe == "subword_nmt" else "sentencepiece.model")

    def step(self, title, commands, inputs, outputs, fingerprint=None):
        lock = self.prepared
        return Step(title, commands, mark(self.prepared / "steps", title), inputs, outputs, fingerprint, lock)

    def text(self, argv, inputs=(), fingerprint=None):
        """The step that writes the raw text with a command."""
        title = f"text of {self.pair}"
        return self.step(title, [Command(argv)], inputs, tuple(self.of(self.raw, "")), fingerprint)

    def small_text(self, corpus, data=None, more=()):
        """The step that writes the raw text of a small corpus, from files in the folder ``data`` if it is given."""
        argv = python("examples.common.small_text", corpus, self.pair, self.raw, *(["--data", data] if data else []))

        def fingerprint():
            if corpus == "grammar":
                return cksum(*sorted((ROOT / "examples" / "common" / "grammar").glob("*.py")))
            if not data:
                return ""
            return cksum(*(path for side in self.pair.split("-") for path in sorted(data.glob(f"*.{side}.gz"))))

        return self.text([*argv, *map(str, more)], fingerprint=fingerprint)

    def of(self, folder, stem, splits=SPLITS):
        return [folder / f"{stem}{split}.{language}" for split in splits for language in self.pair.split("-")]

    def steps(self):
        """All steps after the raw text."""
        prepared, raw = self.prepared, self.of(self.raw, "")
        tokens, pieces = self.of(prepared, "tokenized."), self.of(prepared, "bpe.")
        steps = [self.tokenise(text, out) for text, out in zip(raw, tokens)]
        steps.append(self.learn_subwords(tokens[:2]))
        steps += [self.apply_subwords(text, out) for text, out in zip(tokens, pieces)]
        train = prepared / "bpe.train"
        if self.clean:
            train = prepared / "clean.train"
            argv = python("examples.wmt14.corpus.clean", prepared / "bpe.train", train, *self.pair.split("-"))
            cleaned = self.of(prepared, "clean.", ["train"])
            steps.append(self.step("cleaning", [Command(argv)], tuple(pieces[:2]), tuple(cleaned)))
            pieces[:2] = cleaned
        steps.append(self.binarise(train, tuple(pieces)))
        return steps

    def tokenise(self, text, out):
        argv = python("examples.common.moses", text.suffix[1:], text, out, "--workers", self.workers)
        return self.step(f"tokens of {text.name}", [Command(argv)], (text,), (out,))

    def learn_subwords(self, tokens):
        # Only one of the two stays: fairseq-generate must join the subwords of that kind.
        models = [self.prepared / name for name in ("bpe.codes", "sentencepiece.model")]
        argv = python("examples.common.subwords", "learn", self.bpe, self.subwords, self.model, *tokens)
        return self.step(self.bpe, [Command(["rm", "-rf", *models]), Command(argv)], tuple(tokens), (self.model,))

    def apply_subwords(self, tokens, out):
        argv = python("examples.common.subwords", "apply", self.bpe, self.model, tokens, out, "--workers", self.workers)
        name = out.name.split(".", 1)[1]
        return self.step(f"subwords of {name}", [Command(argv)], (tokens, self.model), (out,))

    def binarise(self, train, inputs):
        source, target = self.pair.split("-")
        argv = ["fairseq-preprocess", "--source-lang", source, "--target-lang", target, "--joined-dictionary"]
        argv += ["--trainpref", train, "--validpref", self.prepared / "bpe.valid", "--testpref"]
        argv += [self.prepared / "bpe.test"]
        commands = binary_data(argv, self.binary, self.prepared, self.workers)
        return self.step("binary data", commands, inputs, (self.binary,))


def archives(argv, data, mirrors, prepared):
    """The step that downloads archives with the command ``argv``, or checks those in the folder ``data``.

    Its output contains the checksums of the archives, which the raw text depends on.
    """
    files = prepared / "archives.txt"
    argv = [*argv, *(["--no-download"] if data else [argument for url in mirrors for argument in ("--mirror", url)])]
    return Step("archives", [Command(argv, output=files)], outputs=(files,), lock=prepared)


def binary_data(argv, binary, prepared, workers):
    """The commands that make binary data with fairseq-preprocess; old data stay until the new ones are complete."""
    partial = binary.with_name(binary.name + ".partial")
    return [
        Command(["rm", "-rf", partial]),
        Command([*argv, "--destdir", partial, "--workers", workers], messages=prepared / "preprocess.log"),
        Command(["rm", "-rf", binary]),
        Command(["mv", partial, binary]),
    ]


def python(module, *arguments):
    """The command that runs a module of the recipes."""
    return ["python", "-m", module, *map(str, arguments)]
