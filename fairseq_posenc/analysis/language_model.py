"""Trained language models and binarised texts, read as in ``fairseq-eval-lm``."""

import hashlib
import os
from argparse import Namespace
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import torch
from fairseq import checkpoint_utils, utils
from fairseq.data import Dictionary, data_utils
from fairseq.tasks.language_modeling import LanguageModelingTask
from omegaconf import OmegaConf

import fairseq_posenc.models.language_model as language_models  # registers the architectures
from fairseq_compat import settings as compat_settings
from fairseq_compat.user_errors import explain
from fairseq_posenc.attention.patterns import FULL
from fairseq_posenc.errors import InputError
from fairseq_posenc.models.checks import check_finite
from fairseq_posenc.models.decoder import Decoder
from fairseq_posenc.models.stack import self_attentions

#: Name of the pattern that a model was trained with.
TRAINED = "trained"
PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class Text:
    """A split of a binarised text: all its sentences concatenated, each with its end-of-sentence symbol.

    Args:
        data: the folder with dict.txt; subset: the name of the split.
        tokens: (N,) int64, the tokens to predict.
        dictionary: fairseq's Dictionary.
    """

    data: str
    subset: str
    tokens: torch.Tensor
    dictionary: Dictionary

    def __len__(self):
        return len(self.tokens)

    @property
    def inputs(self):
        """(N,): the input for predicting each token: the previous token, for the first token the end of a sentence."""
        return torch.cat([self.tokens.new_tensor([self.dictionary.eos()]), self.tokens[:-1]])

    @property
    def sha256(self):
        """A hash of the tokens."""
        return hashlib.sha256(self.tokens.numpy().tobytes()).hexdigest()

    def first(self, count):
        """The first ``count`` tokens as a Text. Raises InputError if there are fewer."""
        if not 1 <= count <= len(self):
            raise InputError(f"--tokens {count}: {self} has {len(self)} tokens; give 1 to {len(self)}")
        return Text(self.data, self.subset, self.tokens[:count], self.dictionary)

    def __str__(self):
        return f"the split {self.subset} of {self.data}"


def read_text(data, subset):
    """The Text of a split in a folder written by ``fairseq-preprocess --only-source``.

    Raises InputError if the folder, its dictionary or the split is missing, or the split is empty.
    """
    folder = Path(utils.split_paths(str(data))[0])
    if not (folder / "dict.txt").is_file():
        raise InputError(f"{folder} has no dict.txt; give a folder that fairseq-preprocess --only-source wrote")
    dictionary = Dictionary.load(str(folder / "dict.txt"))
    sentences = data_utils.load_indexed_dataset(str(folder / subset), dictionary)
    if sentences is None or len(sentences) == 0:
        files = {name[: -len(".idx")] for name in os.listdir(folder) if name.endswith(".idx")}
        existing = ", ".join(sorted(files)) or "none"
        raise InputError(f"{folder} has no split {subset}; choose one of its splits with --subset: {existing}")
    tokens = torch.cat([sentences[index] for index in range(len(sentences))]).long()
    return Text(str(folder), subset, tokens, dictionary)


def read_overrides(text):
    """The dictionary in the value of ``--model-overrides``. Raises InputError if it is not a dictionary."""
    try:
        return compat_settings.read_overrides(text)
    except compat_settings.OverridesError as error:
        raise InputError(str(error)) from None


@dataclass
class LanguageModel:
    """A trained model, ready for evaluation.

    Args:
        path: of its checkpoint; sha256: of the checkpoint file.
        model: fairseq's model, in evaluation mode, with parameters that take no gradients.
        settings: the model's part of the checkpoint's configuration, after overrides.
        seed, training_length: of the training run, the length in tokens per sample; None if the checkpoint has none.
    """

    path: str
    sha256: str
    model: Any
    settings: Any
    seed: Optional[int]
    training_length: Optional[int]

    @property
    def decoder(self):
        return self.model.decoder

    @property
    def is_ours(self):
        """Whether it is a model of this package, with encodings and patterns, rather than of stock fairseq."""
        return isinstance(self.decoder, Decoder)

    @property
    def encoding(self):
        """The name of its positional encoding, None for a model of stock fairseq."""
        return self.decoder.embed_positions.name if self.is_ours else None

    @property
    def trained_pattern(self):
        """The name of the attention pattern in its checkpoint, after overrides."""
        return str(getattr(self.settings, "attention_pattern", None) or FULL)

    @property
    def max_input(self):
        """The largest number of tokens that the model reads at once; None: no limit."""
        if not self.is_ours:
            return self.model.max_positions()
        return self.decoder.numbering.longest(self.decoder.embed_positions.max_positions)

    def describe(self, name):
        """The entry of this checkpoint of the system ``name`` in results."""
        return {
            "name": name,
            "path": self.path,
            "sha256": self.sha256,
            "seed": self.seed,
            "encoding": self.encoding,
            "training_length": self.training_length,
        }

    def attentions(self):
        """The self-attention of every layer, in order. Raises InputError for a model of stock fairseq."""
        if not self.is_ours:
            raise InputError(
                f"{self.path} is a model of stock fairseq, without attention patterns and access to attention scores; "
                "load it as a model of this package: --model-overrides \"{'arch': 'transformer_lm_ENCODING_SIZE'}\""
            )
        return self_attentions(self.decoder)

    def pattern_of(self, name):
        """The pattern of that name, or None for a model of stock fairseq with full attention.

        Raises InputError if there is no such pattern, or the model's encoding does not support it.
        """
        name = self.trained_pattern if name == TRAINED else name
        if not self.is_ours and name == str(FULL):
            return None
        self.attentions()
        # The same check as if the model were built with --model-overrides "{'attention_pattern': name}".
        settings = {**vars(self.settings), "attention_pattern": name, "position_encoding": self.encoding}
        try:
            return language_models.settle_pattern(Namespace(**settings))
        except InputError as error:
            raise InputError(f"{self.path}, pattern {name}: {error}") from None

    def pattern_names(self, names):
        """The names of these patterns without duplicates, with "trained" replaced by the model's own pattern."""
        return list(dict.fromkeys(str(self.pattern_of(name) or FULL) for name in names))

    def use_pattern(self, name):
        """Use this attention pattern from now on; see pattern_of."""
        pattern = self.pattern_of(name)
        if pattern is not None:
            for attention in self.attentions():
                attention.use_pattern(pattern)

    def check_length(self, count, length):
        """Raise InputError if ``count`` inputs, which ``length`` needs, are more than the model can read."""
        limit = self.max_input
        if limit is not None and count > limit:
            why = f"its encoding {self.encoding} has" if self.is_ours else "the model of stock fairseq has"
            raise InputError(
                f"length {length} is too long for {self.path}: {why} {limit} positions; leave out the longer lengths "
                "or this checkpoint"
            )


def load_model(path, text, overrides=None, precision="fp32", device="cpu"):
    """The LanguageModel of a checkpoint for the dictionary of ``text``.

    Args:
        overrides: dictionary, as in ``--model-overrides`` of stock fairseq.
        precision: a key of PRECISIONS.

    Raises:
        InputError: the file is missing or not a checkpoint of a language model, a parameter is not finite, the
            dictionary is a different one, or the task adds tokens before or after the text.
    """
    path = str(path)
    with errors_naming(path):
        sha256 = file_sha256(path)
        state = read_state(path, overrides or {})
        check_state(path, state)
        task = LanguageModelingTask(Namespace(data=text.data), text.dictionary)
        (model,), cfg, _ = checkpoint_utils.load_model_ensemble_and_task([path], task=task, state=state)
    settings = cfg.model
    if OmegaConf.is_config(settings):
        settings = Namespace(**OmegaConf.to_container(settings, enum_to_str=True))
    check_task(path, cfg.task)
    model = model.to(device=device, dtype=PRECISIONS[precision]).eval().requires_grad_(False)
    seed, length = (getattr(part, name, None) for part, name in ((cfg.common, "seed"), (cfg.task, "tokens_per_sample")))
    return LanguageModel(path, sha256, model, settings, seed, length)


@contextmanager
def errors_naming(path):
    """Turn errors of users into an InputError of one line that names the checkpoint."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error) if path in str(error) else f"{path}: {error}") from None
    except Exception as error:
        line = explain(error)
        if line is None:
            raise
        raise InputError(line if path in line else f"{path}: {line}") from error


def read_state(path, overrides):
    """The state in a checkpoint, as fairseq loads it. Raises InputError for a file that fairseq-train did not write."""
    try:
        return checkpoint_utils.load_checkpoint_to_cpu(path, overrides)
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is not a checkpoint of fairseq-train ({error!r}); leave it out") from error


def file_sha256(path):
    """The hash of a file's content."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def check_state(path, state):
    """Raise InputError unless ``state`` holds a language model whose parameters are all finite."""
    parameters = state.get("model") if isinstance(state, dict) else None
    if not parameters or not any(name.startswith("decoder.") for name in parameters):
        raise InputError(f"{path} holds no model with a decoder; give a checkpoint of fairseq-train")
    if any(name.startswith("encoder.") for name in parameters):
        raise InputError(f"{path} is an encoder-decoder; give a checkpoint of --task language_modeling")
    check_finite(parameters)


def check_task(path, task):
    """Raise InputError for tasks that do not simply predict each token of the text from the previous ones."""
    for option, flag in (("add_bos_token", "--add-bos-token"), ("self_target", "--self-target")):
        if getattr(task, option, False):
            raise InputError(f"{path} was trained with {flag}, which this evaluation does not support; leave it out")
    if (getattr(task, "output_dictionary_size", -1) or -1) >= 0:
        raise InputError(
            f"{path} was trained with --output-dictionary-size {task.output_dictionary_size}: it does not predict all "
            "tokens of the text; leave it out"
        )
