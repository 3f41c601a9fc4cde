"""Small language models and texts as fairseq's commands write them, with weights that make every token matter."""

import random
from functools import partial

import torch
from fairseq import models, options
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import make_builder
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.tasks.language_modeling import LanguageModelingTask
from omegaconf import OmegaConf

from tests.support.models import lm_architecture, small_lm_flags

WORDS = 12


def write_text(folder, tokens, splits=("test",), words=WORDS, seed=1):
    """Binarise random sentences, ``tokens`` with their ends in each split; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    dictionary, draw = Dictionary(), random.Random(seed)
    for index in range(words):
        dictionary.add_symbol(f"w{index}")
    dictionary.save(str(folder / "dict.txt"))
    for split in splits:
        builder = make_builder(str(folder / f"{split}.bin"), "mmap", vocab_size=len(dictionary))
        left = tokens
        while left:
            length = left if left <= 8 else draw.randint(3, 7)
            sentence = [draw.randrange(4, 4 + words) for _ in range(length - 1)] + [dictionary.eos()]
            builder.add_item(torch.IntTensor(sentence))
            left -= length
        builder.finalize(str(folder / f"{split}.idx"))
    return folder


def write_checkpoint(path, data, encoding, *flags, seed=1, arch=None):
    """A checkpoint of a small model with random weights; return its path as text."""
    parser = options.get_training_parser()
    words = [str(data), "--arch", arch or lm_architecture(encoding), "--seed", str(seed), "--tokens-per-sample", "16"]
    words += [*small_lm_flags(encoding), *map(str, flags)]
    args = options.parse_args_and_arch(parser, words)
    cfg = convert_namespace_to_omegaconf(args)
    task = LanguageModelingTask.setup_task(cfg.task)
    model = models.build_model(cfg.model, task)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4, generator=generator)
    save(path, cfg, model.state_dict())
    return str(path)


def save(path, cfg, parameters):
    """Write a file as fairseq-train does, without what only training reads."""
    state = {
        "args": None,
        "cfg": OmegaConf.to_container(cfg) if OmegaConf.is_config(cfg) else cfg,
        "model": parameters,
        "optimizer_history": [{"num_updates": 1, "optimizer_name": "Adam", "lr_scheduler_state": {}}],
        "task_state": {},
        "extra_state": {},
        "last_optimizer_state": None,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state, path)


def change(path, target, **parameters):
    """Write a copy of a checkpoint with these parameters changed by functions; return its path as text."""
    state = torch.load(path)
    for name, function in parameters.items():
        function(state["model"][name])
    torch.save(state, target)
    return str(target)


def with_models(argv, lm_data, lm_checkpoint):
    """Arguments of a command, with the folder of data for DATA and a small model's checkpoint for its encoding."""
    real = {"DATA": lambda: str(lm_data), **{name: partial(lm_checkpoint, name) for name in ("alibi", "learned")}}
    return [real[argument]() if argument in real else argument for argument in argv]
