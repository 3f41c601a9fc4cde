"""Two processes on CPUs: gradients of parameters that layers share, with activation checkpointing."""

import copy

import torch
from fairseq.dataclass.configs import FairseqConfig
from fairseq.distributed.utils import distributed_main, get_global_group
from torch.multiprocessing import spawn
from torch.nn.parallel import DistributedDataParallel

from tests.support.models import batch, build_small

#: Encoding -> flags with which layers share its parameters.
SHARED = {
    "t5": (),
    "kerple-log": (),
    "kerple-power": (),
    "posnet-attn": (),
    "dynamic-bias": (),
    "fire": (),
    "deberta": (),
    "shaw": ("--shaw-layers", "shared"),
    "adaptive-t5": ("--adaptive-t5-layers", "shared"),
}


def built(name):
    """A model and the inputs of two processes."""
    torch.manual_seed(1)
    model = build_small(name, "--encoder-layers", 2, "--decoder-layers", 2, "--checkpoint-activations", *SHARED[name])
    model.eval()  # dropout would differ
    return model, [{key: x[rank : rank + 1] for key, x in batch().items()} for rank in (0, 1)]


def loss(model, inputs):
    return model(**inputs)[0].sin().sum()


def compare(config):
    """Raise an error if two processes find other gradients than one that has both inputs."""
    differences = {}
    for name in SHARED:
        model, inputs = built(name)
        alone = copy.deepcopy(model)
        parallel = DistributedDataParallel(model, process_group=get_global_group())
        for _ in range(2):  # the first pass may leave the reducer waiting for the second
            model.zero_grad()
            loss(parallel, inputs[config.distributed_training.distributed_rank]).backward()
        sum(loss(alone, each) / 2 for each in inputs).backward()
        differences[name] = max(
            float((found.grad - expected.grad).abs().max())
            for found, expected in zip(model.parameters(), alone.parameters())
        )
    worst = max(differences, key=differences.get)
    if differences[worst] > 1e-4:
        raise AssertionError(f"{worst}: gradients differ by {differences[worst]}")


def compare_as_process(rank, place):
    """One of two processes. It ends as training does, which leaves no thread of a process group."""
    config = FairseqConfig()
    config.common.cpu, config.common.tpu = True, False
    training = config.distributed_training
    training.distributed_init_method = f"file://{place}"
    training.distributed_world_size, training.distributed_rank, training.distributed_backend = 2, rank, "gloo"
    distributed_main(rank, compare, config, {})


def test_gradients_of_two_processes(tmp_path):
    spawn(compare_as_process, (tmp_path / "rendezvous",), nprocs=2)
