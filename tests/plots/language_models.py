"""Small results of the commands that examine language models, {kind: record}."""


def checkpoint(name):
    return {"name": name, "path": f"{name}.pt", "training_length": 16}


def summary(name, pattern, length, perplexity, deviation=None, mark=""):
    return {
        "name": name,
        "pattern": pattern,
        "length": length,
        "seeds": 1 if deviation is None else 2,
        "perplexity": perplexity,
        "deviation": deviation,
        "p": 0.01 if mark else None,
        "mark": mark,
    }


def by_position(name, pair, losses):
    positions = {"from": [0, 2], "loss": losses}
    return {"name": name, "pair": pair, "pattern": "full", "length": 8, "positions": positions}


EXTRAPOLATION = {
    "kind": "extrapolation",
    "checkpoints": [checkpoint("xpos"), checkpoint("rope")],
    "summary": [
        summary("xpos", "full", 16, 5.5, 0.25),
        summary("xpos", "full", 64, 5.25, 0.5),
        summary("xpos", "blockwise:16", 16, 5.5, 0.25),
        summary("xpos", "blockwise:16", 64, 5.0, 0.125),
        summary("rope", "full", 16, 6.0, 0.25),
        summary("rope", "full", 64, 48.0, 4.0, mark="†"),
        summary("rope", "blockwise:16", 16, 6.0, 0.25),
        summary("rope", "blockwise:16", 64, None),
    ],
}
BY_POSITION = {
    "kind": "by-position",
    "checkpoints": [checkpoint("xpos"), checkpoint("rope")],
    "cells": [
        by_position("xpos", 0, [0.0, 1.0]),
        by_position("xpos", 1, [1.0, 1.0]),
        by_position("rope", 0, [2.0, None]),
    ],
}
LANGUAGE_MODELS = {"extrapolation": EXTRAPOLATION, "by-position": BY_POSITION}
