"""fairseq-train inside the process of the tests: for many short runs of tiny models."""

import torch
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.distributed.utils import distributed_main
from fairseq_cli.train import main

from fairseq_posenc.analysis.commands.data import write_pairs, write_texts
from fairseq_posenc.encodings import encoding_class
from tests.support.models import architecture, lm_architecture, small_flags, small_lm_flags

FAMILIES = {
    "translation": (architecture, small_flags, ("--share-all-embeddings",)),
    "language model": (lm_architecture, small_lm_flags, ("--tokens-per-sample", 8)),
}
COMMON = (
    *("--cpu", "--num-workers", 0, "--no-progress-bar", "--log-format", "none", "--seed", 1, "--no-epoch-checkpoints"),
    *("--criterion", "cross_entropy", "--clip-norm", 0, "--max-epoch", 99),
)


def write_data(family, folder):
    """Sixteen samples for training, and four to validate on."""
    if family == "translation":
        write_pairs(folder, vocab_size=20, longest=9, counts={"train": 16, "valid": 4})
    else:
        write_texts(folder, vocab_size=20, length=8, counts={"train": 16, "valid": 4})
    return folder


def configuration(data, family, encoding, folder, *flags):
    """fairseq's configuration of a training run with these flags."""
    arch, small, more = FAMILIES[family]
    words = [data, "--arch", arch(encoding), *small(encoding), *more, *COMMON, "--save-dir", folder, *flags]
    args = options.parse_args_and_arch(options.get_training_parser(), list(map(str, words)))
    return convert_namespace_to_omegaconf(args)


def train(data, family, encoding, folder, *flags):
    """The checkpoint after training with these flags; it is in ``folder``, where a run goes on if one is there."""
    main(configuration(data, family, encoding, folder, *flags))
    return saved(folder)


def train_in_turn(rank, place, data, family, runs):
    """One of two processes, which train together: a run for each (encoding, folder, *flags), one after the other.

    They meet at files whose paths begin with ``place``, a new one for each run.
    """
    processes = ("--distributed-world-size", 2, "--distributed-rank", rank, "--distributed-backend", "gloo")
    for encoding, folder, *flags in runs:
        flags += [*processes, "--distributed-init-method", f"file://{place}-{encoding}"]
        distributed_main(rank, main, configuration(data, family, encoding, folder, *flags), {})


def saved(folder):
    return torch.load(folder / "checkpoint_last.pt")


def without_dropout(encoding):
    """Flags that switch off the dropout of an encoding."""
    options = encoding_class(encoding).options().values()
    return [word for option in options if option.name == "dropout" for word in (option.flag, 0)]


def updates(state):
    return state["optimizer_history"][-1]["num_updates"]


def largest_difference(state, other):
    """Of the parameters of two checkpoints."""
    assert state["model"].keys() == other["model"].keys()
    return max(float((p - other["model"][name]).abs().max()) for name, p in state["model"].items() if p.numel())
