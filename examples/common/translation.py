"""What translation recipes share: from raw text to binary data, commands, and the settings of small models."""

import shlex
from dataclasses import dataclass

from examples.common.engine import ROOT, Command, Step, cksum, mark

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Small:
    """A small model and its training.

    Args:
        subwords: BPE merges of both languages.
        layers, width, feed_forward, heads: of the encoder and of the decoder.
        max_tokens: of a batch.
        training: options of fairseq-train: rate, schedule, and the number of updates where that is its length.
        epochs: the length of the training where it is a number of epochs.
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
        """Options of training, for ``epochs`` epochs if set."""
        epochs = epochs or self.epochs
        return shlex.split(self.training) + (["--max-epoch", str(epochs)] if epochs else [])

    def model(self, architecture):
        """Options of the model; ``architecture`` as in ``transformer_rope``."""
        words = ["--arch", f"{architecture}_iwslt_de_en", "--dropout", "0.1"]
        for side in ("encoder", "decoder"):
            words += [f"--{side}-layers", self.layers, f"--{side}-embed-dim", self.width]
            words += [f"--{side}-ffn-embed-dim", self.feed_forward, f"--{side}-attention-heads", self.heads]
        return [str(word) for word in words]


#: The captions of Multi30k: 29,000 pairs.
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


def train_command(launcher, binary, pair, model, batch, training, save_dir, saving):
    """The fairseq-train command of one translation system, with the common criterion and optimizer."""
    source, target = pair.split("-")
    return [
        *launcher,
        binary,
        *("--source-lang", source, "--target-lang", target, "--user-dir", "fairseq_posenc"),
        *model,
        *shlex.split(
            "--share-all-embeddings --criterion label_smoothed_cross_entropy --label-smoothing 0.1 "
            "--optimizer adam --adam-betas '(0.9, 0.98)' --lr-scheduler inverse_sqrt"
        ),
        *batch,
        *training,
        *saving,
        *("--save-dir", save_dir, "--log-format", "json", "--no-progress-bar"),
    ]


def generate_command(binary, pair, path, options, pieces="subword_nmt"):
    """The words of a translation, with detokenised text in its D- lines."""
    source, target = pair.split("-")
    return [
        *("fairseq-generate", binary, "--source-lang", source, "--target-lang", target),
        *("--user-dir", "fairseq_posenc", "--path", path, *options),
        *("--post-process", pieces, "--tokenizer", "moses"),
    ]


class Preparation:
    """Steps from raw/SPLIT.LANGUAGE to binary data: Moses tokens, subwords, cleaning, numbers.

    Args:
        pair: such as en-de.
        raw, prepared, binary: Paths of folders.
        workers: processes.
        bpe: subword_nmt or sentencepiece; subwords: how many.
        clean: whether sentence pairs of unlike lengths are left out of the training text.
    """

    def __init__(self, pair, raw, prepared, binary, workers, subwords, bpe="subword_nmt", clean=False):
        self.pair, self.raw, self.prepared, self.binary = pair, raw, prepared, binary
        self.workers, self.subwords, self.bpe, self.clean = str(workers), str(subwords), bpe, clean
        self.model = prepared / ("bpe.codes" if bpe == "subword_nmt" else "sentencepiece.model")

    def step(self, title, commands, inputs, outputs, made_of=None):
        lock = self.prepared
        return Step(title, commands, mark(self.prepared / "steps", title), inputs, outputs, made_of, lock)

    def text(self, words, inputs=(), made_of=None):
        """The step that writes the raw text with a command."""
        title = f"text of {self.pair}"
        return self.step(title, [Command(words)], inputs, tuple(self.of(self.raw, "")), made_of)

    def small_text(self, corpus, data=None, more=()):
        """The step that writes the raw text of a small corpus, from files in the folder ``data`` if given."""
        words = python("examples.common.small_text", corpus, self.pair, self.raw, *(["--data", data] if data else []))

        def made_of():
            if corpus == "grammar":
                return cksum(*sorted((ROOT / "examples" / "common" / "grammar").glob("*.py")))
            if not data:
                return ""
            return cksum(*(path for side in self.pair.split("-") for path in sorted(data.glob(f"*.{side}.gz"))))

        return self.text([*words, *map(str, more)], made_of=made_of)

    def of(self, folder, stem, splits=SPLITS):
        return [folder / f"{stem}{split}.{language}" for split in splits for language in self.pair.split("-")]

    def steps(self):
        """All steps but the text."""
        prepared, raw = self.prepared, self.of(self.raw, "")
        tokens, pieces = self.of(prepared, "tokenized."), self.of(prepared, "bpe.")
        steps = [self.tokens(text, out) for text, out in zip(raw, tokens)]
        steps.append(self.learn(tokens[:2]))
        steps += [self.cut(text, out) for text, out in zip(tokens, pieces)]
        train = prepared / "bpe.train"
        if self.clean:
            train = prepared / "clean.train"
            words = python("examples.wmt14.corpus.clean", prepared / "bpe.train", train, *self.pair.split("-"))
            cleaned = self.of(prepared, "clean.", ["train"])
            steps.append(self.step("cleaning", [Command(words)], tuple(pieces[:2]), tuple(cleaned)))
            pieces[:2] = cleaned
        steps.append(self.numbers(train, tuple(pieces)))
        return steps

    def tokens(self, text, out):
        words = python("examples.common.moses", text.suffix[1:], text, out, "--workers", self.workers)
        return self.step(f"tokens of {text.name}", [Command(words)], (text,), (out,))

    def learn(self, tokens):
        # Only one of the two stays: who joins the pieces sees by it how.
        models = [self.prepared / name for name in ("bpe.codes", "sentencepiece.model")]
        words = python("examples.common.subwords", "learn", self.bpe, self.subwords, self.model, *tokens)
        return self.step(self.bpe, [Command(["rm", "-rf", *models]), Command(words)], tuple(tokens), (self.model,))

    def cut(self, tokens, out):
        words = python(
            "examples.common.subwords", "apply", self.bpe, self.model, tokens, out, "--workers", self.workers
        )
        name = out.name.split(".", 1)[1]
        return self.step(f"subwords of {name}", [Command(words)], (tokens, self.model), (out,))

    def numbers(self, train, inputs):
        source, target = self.pair.split("-")
        words = ["fairseq-preprocess", "--source-lang", source, "--target-lang", target, "--joined-dictionary"]
        words += ["--trainpref", train, "--validpref", self.prepared / "bpe.valid", "--testpref"]
        words += [self.prepared / "bpe.test"]
        commands = binary_data(words, self.binary, self.prepared, self.workers)
        return self.step("binary data", commands, inputs, (self.binary,))


def archives(words, data, mirrors, prepared):
    """The step that downloads archives, or checks those in the folder ``data``, with the words of a command.

    Its output says what they are: other archives mean other text.
    """
    files = prepared / "archives.txt"
    words = [*words, *(["--no-download"] if data else [word for url in mirrors for word in ("--mirror", url)])]
    return Step("archives", [Command(words, output=files)], outputs=(files,), lock=prepared)


def binary_data(words, binary, prepared, workers):
    """The commands that make binary data with fairseq-preprocess, the old data in place until the end."""
    partial = binary.with_name(binary.name + ".partial")
    return [
        Command(["rm", "-rf", partial]),
        Command([*words, "--destdir", partial, "--workers", workers], messages=prepared / "preprocess.log"),
        Command(["rm", "-rf", binary]),
        Command(["mv", partial, binary]),
    ]


def python(module, *words):
    """The words that run a module of the recipes."""
    return ["python", "-m", module, *map(str, words)]
