"""The steps from documents to binary data: of the corpus, and of further texts to evaluate on."""

import sys
from pathlib import Path

from examples.common.commands import Command
from examples.common.files import cksum
from examples.common.step import Step, mark
from examples.common.translation import archives, binary_data, python
from examples.common.variables import existing_folder, workers
from examples.lm.settings import HERE
from fairseq_posenc.errors import InputError

#: {option of prepare.sh: what it can be used with}.
OPTIONS = {
    "--data": ("wikitext-103", "wikitext-103-words", "documents", "text"),
    "--name": ("documents",),
    "--gpt2": ("stdlib", "wikitext-103", "documents"),
    "--mirror": ("wikitext-103", "wikitext-103-words"),
}


def gpt2_folder(path):
    """The folder of GPT-2's files, or None if none is given."""
    folder = existing_folder("--gpt2", path) if path and Path(path).is_dir() else None
    for file in ("encoder.json", "vocab.bpe"):
        if path and not (folder and (folder / file).is_file()):
            raise InputError(f"--gpt2 {path} lacks {file}; give the folder of GPT-2's files")
    return folder


class Preparation:
    """The steps in one folder with raw, prepared and binary data: that of the corpus, or that of another text.

    Both use the subwords and the dictionary of the corpus.
    """

    def __init__(self, settings, folder):
        self.settings, self.workers = settings, str(workers())
        self.raw, self.prepared, self.binary = folder / "raw", folder / "prepared", folder / "binary"
        self.subwords = settings.home / "prepared"
        self.dictionary = self.subwords / "dict.txt"
        self.steps = [Step("folder", [Command(["mkdir", "-p", self.prepared])])]

    def add(self, title, commands, inputs=(), outputs=(), fingerprint=None):
        at = mark(self.prepared / "steps", title)
        self.steps.append(Step(title, commands, at, tuple(inputs), tuple(outputs), fingerprint, self.prepared))

    def learn_subwords(self, gpt2, train):
        """Add the step that learns subwords, or copies GPT-2's; return the model."""
        models = [self.subwords / "gpt2", self.subwords / "sentencepiece.model"]
        model = models[0] if gpt2 else models[1]
        argv = ["gpt2", gpt2] if gpt2 else ["sentencepiece", self.settings.scale_settings.pieces]
        argv = python("examples.lm.corpus.document_subwords", *argv, model, self.dictionary, *([] if gpt2 else [train]))
        # Only one of the two stays: it tells which subwords the corpus has.
        commands = [Command(["rm", "-rf", *models]), Command(argv)]

        def fingerprint():
            return cksum(gpt2 / "encoder.json", gpt2 / "vocab.bpe") if gpt2 else ""

        self.add("subwords", commands, (train,), (model, self.dictionary), fingerprint)
        return model

    def apply_subwords(self, split, model, fingerprint=None):
        """Add the step that writes a split as subwords; return its output."""
        text, pieces = self.raw / f"{split}.jsonl", self.prepared / f"pieces.{split}"
        argv = python("examples.lm.corpus.document_subwords", "apply", model, text, pieces, "--workers", self.workers)
        self.add(f"subwords of {split}", [Command(argv)], (text, model), (pieces,), fingerprint)
        return pieces

    def binarise(self, files, argv):
        """Add the step that makes binary data of {split: file}."""
        argv = ["fairseq-preprocess", "--only-source", *argv]
        for split, path in files.items():
            argv += [f"--{split}pref", path]
        commands = binary_data(argv, self.binary, self.prepared, self.workers)
        self.add("binary data", commands, files.values(), (self.binary,))


def of_corpus(settings, kind, data=None, gpt2=None, mirrors=()):
    """The steps to the binary data of the corpus.

    Args:
        settings: Settings.
        kind: wikitext-103, wikitext-103-words, documents or stdlib.
        data: Path of a folder with documents or with WikiText's archive, which is otherwise downloaded.
        gpt2: Path of the folder of GPT-2's files, or None to learn subwords.
        mirrors: URLs to try first.
    """
    plan = Preparation(settings, settings.home)
    raw, prepared, scale = plan.raw, plan.prepared, settings.scale_settings
    size = ["--held-out", scale.held_out, "--long", scale.long, *(["--limit", scale.limit] if scale.limit else [])]
    before = ()
    if kind.startswith("wikitext"):
        form = "words" if kind.endswith("words") else "articles"
        folder = data or settings.home / "archives"
        argv = python("examples.lm.corpus.wikitext", "fetch", form, folder, settings.home / "checksums.json")
        plan.steps.append(archives(argv, data, mirrors, prepared))
        before = plan.steps[-1].outputs
        text = python("examples.lm.corpus.wikitext", form, folder, raw)

        def fingerprint():
            return before[0].read_text(encoding="utf-8")
    elif kind == "documents":
        text = python("examples.lm.corpus.documents", data, raw, *size)

        def fingerprint():
            return listing(data)
    else:
        text = python("examples.lm.corpus.standard_library", raw, *size)

        def fingerprint():
            return sys.version

    plain = kind == "wikitext-103-words"
    texts = {split: raw / f"{split}.{'words' if plain else 'jsonl'}" for split in ("train", "valid", "test")}
    plan.add(f"text of {settings.corpus}", [Command(text)], before, texts.values(), fingerprint)
    if plain:
        plan.binarise(texts, [])
        return plan.steps
    model = plan.learn_subwords(gpt2, texts["train"])
    pieces = {split: plan.apply_subwords(split, model) for split in texts}
    plan.binarise(pieces, ["--srcdict", plan.dictionary])
    return plan.steps


def of_text(settings, name, data, gpt2=None, planned=False):
    """The steps to the binary data of another text to evaluate on.

    Args:
        settings: Settings.
        name: name of the text.
        data: Path of the folder with its documents.
        gpt2: whether the planned subwords are GPT-2's.
        planned: whether the steps of the corpus come before these; otherwise its subwords must exist.

    Raises:
        InputError: the corpus has no subwords.
    """
    plan = Preparation(settings, settings.home / "texts" / name)
    if not (planned or settings.dry_run or plan.dictionary.is_file()):
        command = f"{HERE}/prepare.sh {' '.join(settings.preparation())}"
        raise InputError(f"no subwords in {plan.subwords}; prepare the corpus first: {command}")
    uses_gpt2 = gpt2 if planned else (plan.subwords / "gpt2").is_dir()
    model = plan.subwords / ("gpt2" if uses_gpt2 else "sentencepiece.model")
    argv = python("examples.lm.corpus.documents", data, plan.raw, "--test-only")
    raw = plan.raw / "test.jsonl"
    plan.add(f"text of {settings.corpus}, {name}", [Command(argv)], (), (raw,), lambda: listing(data))
    pieces = plan.apply_subwords("test", model, lambda: cksum(plan.dictionary))
    plan.binarise({"test": pieces}, ["--srcdict", plan.dictionary])
    return plan.steps


def listing(folder):
    """Names, sizes and times of all files below a folder, as text: checksums of many gigabytes would take too long."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    entries = ((path.relative_to(folder), path.stat()) for path in files)
    return "\n".join(f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in entries)
