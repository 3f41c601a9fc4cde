"""The steps from raw text to translations, each with the stock tool: Moses, BPE, and the fairseq commands."""

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import steps
from sacremoses import MosesPunctNormalizer, MosesTokenizer
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe
from tqdm import tqdm

SPLITS = ("train", "valid", "test")
BEAM = 5
POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Preset:
    """Sizes of the model and of its training; every other setting is the same for all corpora."""

    merges: int
    layers: int
    dimension: int
    feed_forward: int
    heads: int
    dropout: float
    learning_rate: float
    warmup: int
    max_tokens: int
    epochs: int


PRESETS = {
    "grammar": Preset(1000, 2, 128, 256, 4, 0.1, 5e-3, 400, 2048, 8),
    "multi30k": Preset(4000, 2, 128, 512, 4, 0.1, 5e-3, 800, 2048, 12),
}


def prepare(raw, folder, source, target, merges, workers):
    """Normalise and tokenise, learn one BPE on both sides of the training text, apply it, index the words."""
    for split in SPLITS:
        for language in (source, target):
            tokenize(raw / f"{split}.{language}", folder / f"tokenized.{split}.{language}", language)
    both = folder / "tokenized.train"
    both.write_bytes(b"".join((folder / f"tokenized.train.{side}").read_bytes() for side in (source, target)))
    with open(both, encoding="utf-8") as text, open(folder / "bpe.codes", "w", encoding="utf-8") as codes:
        learn_bpe(text, codes, merges)
    both.unlink()
    with open(folder / "bpe.codes", encoding="utf-8") as codes:
        bpe = BPE(codes)
    for split in SPLITS:
        for language in (source, target):
            with open(folder / f"tokenized.{split}.{language}", encoding="utf-8") as lines:
                text = "".join(bpe.process_line(line) for line in lines)
            (folder / f"bpe.{split}.{language}").write_bytes(text.encode("utf-8"))
    command = ["fairseq-preprocess", "--source-lang", source, "--target-lang", target, "--joined-dictionary"]
    prefixes = zip(("--trainpref", "--validpref", "--testpref"), SPLITS)
    command += [word for option, split in prefixes for word in (option, str(folder / f"bpe.{split}"))]
    command += ["--destdir", str(folder / "binary"), "--workers", str(workers)]
    steps.run(command, folder / "preprocess.log")


def tokenize(raw, tokenized, language):
    """Moses normalisation and tokenisation, with the settings that fairseq's ``--tokenizer moses`` undoes."""
    normalizer, tokenizer = MosesPunctNormalizer(language), MosesTokenizer(language)
    lines = raw.read_text(encoding="utf-8").split("\n")[:-1]
    with open(tokenized, "w", encoding="utf-8", newline="\n") as output:
        for line in tqdm(lines, desc=f"Moses {raw.name}", unit=" lines", leave=False, disable=None):
            words = tokenizer.tokenize(normalizer.normalize(line), aggressive_dash_splits=True, return_str=True)
            output.write(words + "\n")


def training_command(binary, checkpoints, encoding, preset, source, target, seed, epochs):
    """fairseq-train for one positional encoding; the paths are relative to the output folder."""
    sizes = []
    for side in ("encoder", "decoder"):
        sizes += [f"--{side}-layers", preset.layers, f"--{side}-embed-dim", preset.dimension]
        sizes += [f"--{side}-ffn-embed-dim", preset.feed_forward, f"--{side}-attention-heads", preset.heads]
    command = ["fairseq-train", binary, "--source-lang", source, "--target-lang", target]
    command += ["--user-dir", "fairseq_posenc", "--arch", f"transformer_{encoding.replace('-', '_')}_iwslt_de_en"]
    command += [*sizes, "--share-all-embeddings", "--dropout", preset.dropout]
    command += ["--criterion", "label_smoothed_cross_entropy", "--label-smoothing", 0.1]
    command += ["--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--clip-norm", 1.0]
    command += ["--lr", preset.learning_rate, "--lr-scheduler", "inverse_sqrt", "--warmup-updates", preset.warmup]
    command += ["--max-tokens", preset.max_tokens, "--max-epoch", epochs, "--seed", seed, "--num-workers", 0]
    command += ["--save-dir", checkpoints, "--no-epoch-checkpoints", "--no-progress-bar", "--log-format", "json"]
    return [str(word) for word in command]


@dataclass
class Training:
    """One system's training in the output folder: NAME/training holds train.log and checkpoints/."""

    name: str
    output: Path
    command: list
    configuration: dict

    @property
    def folder(self):
        return self.output / self.name / "training"

    @property
    def log(self):
        return self.folder / "train.log"

    def begin(self, threads):
        """Start, or continue from the last checkpoint of the same configuration."""
        begun = self.folder / "begun.json"
        if not begun.exists() or json.loads(begun.read_text(encoding="utf-8")) != self.configuration:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            begun.write_text(json.dumps(self.configuration), encoding="utf-8")
        self.process = steps.start(self.command, self.log, self.output, threads, append=True)
        self.started = time.monotonic()
        self.shown = len(epochs(self.log, "valid"))

    def show_progress(self):
        """One line for each epoch since the last look."""
        records = epochs(self.log, "valid")
        for record in records[self.shown :]:
            print(f"{self.name}: epoch {record['epoch']}, validation loss {record['valid_loss']}", flush=True)
        self.shown = len(records)


def train(trainings, threads):
    """Run these trainings side by side to their ends."""
    pending = []
    for training in trainings:
        if steps.finished(training.folder, training.configuration):
            print(f"train {training.name}: already done", flush=True)
        else:
            pending.append(training)
    running = []
    try:
        for training in pending:
            print(f"train {training.name} ... (log: {training.log})", flush=True)
            training.begin(threads)
            running.append(training)
        while running:
            time.sleep(POLL_SECONDS)
            for training in list(running):
                ended = training.process.poll() is not None
                training.show_progress()
                if ended:
                    steps.check(training.command, training.process, training.log)
                    seconds = time.monotonic() - training.started
                    steps.stamp(training.folder, training.configuration, seconds, command=training.command)
                    running.remove(training)
    finally:
        steps.stop(training.process for training in running)


def epochs(log, kind):
    """The records of kind "train" or "valid" in a fairseq log, one an epoch (the last, where one was repeated)."""
    if not log.exists():
        return []
    found = {}
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        before, mark, record = line.partition(f"| INFO | {kind} | ")
        if mark and record.startswith("{") and record.endswith("}"):
            record = json.loads(record)
            found[record["epoch"]] = record
    return [found[epoch] for epoch in sorted(found)]


def generate(output, binary, checkpoint, folder, source, target, threads):
    """Translate the test set with the checkpoint into folder/generate.log; D- lines are detokenised text.

    ``binary`` and ``checkpoint`` are relative to the output folder.
    """
    command = ["fairseq-generate", binary, "--source-lang", source, "--target-lang", target]
    command += ["--user-dir", "fairseq_posenc", "--path", checkpoint, "--gen-subset", "test"]
    command += ["--beam", str(BEAM), "--max-tokens", "8000", "--no-progress-bar"]
    command += ["--post-process", "subword_nmt", "--tokenizer", "moses"]
    steps.run(command, folder / "generate.log", output, threads)
    return {"command": command}
