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


def resolution(name, length, resolutions, scores):
    curve = {"distance": [0, 1], "score": scores}
    cell = {"name": name, "pattern": "full", "length": length, "resolution": resolutions[0]}
    return {**cell, "by_layer": resolutions[1:], "curve": curve}


RESOLUTION = {
    "kind": "resolution",
    "cells": [
        resolution("xpos", 8, [0.5, 0.25, 0.75], [2.0, 1.0]),
        resolution("xpos", 8, [0.25, 0.25, 0.5], [4.0, 1.0]),
        resolution("rope", 8, [0.125, 0.25, 0.0], [2.0, -1.0]),
        resolution("rope", 16, [0.125, 0.25, 0.0], [2.0, -1.0]),
    ],
}


def field(name, erf, shares, distances):
    curve = {"tokens": [1, 2, 8], "share": shares}
    distances = {"by_layer": distances}
    cell = {"name": name, "path": f"{name}-{erf}.pt", "pattern": "full", "length": 9, "erf": erf}
    return {**cell, "curve": curve, "attention_distance": distances}


def bias(name, values, a, b, **which):
    fits = {"all": {"a": a, "b": b}, "recent": {"a": 0.0, "b": 0.0}}
    return {"name": name, "distance": [0, 1, 7], "bias": values, "fits": fits, **which}


RECEPTIVE_FIELD = {
    "kind": "receptive-field",
    "cells": [
        field("sandwich", 8, [0.25, 0.5, 1.0], [1.0, 3.0]),
        field("sandwich", 6, [0.75, 1.0, 1.0], [2.0, 3.0]),
        field("rope", 7, [0.5, 0.5, 1.0], [4.0, 4.0]),
    ],
    "biases": [
        bias("sandwich", [0.0, -1.0, -2.0], -1.0, 0.5, path="sandwich-8.pt", layers=[1, 2], head=1),
        bias("sandwich", [0.0, -0.5, -1.0], -0.5, 0.0, path="sandwich-8.pt", layers=[1, 2], head=2),
        bias("sandwich", [0.0, -9.0, -9.0], -9.0, 0.0, path="sandwich-6.pt", layers=[1, 2], head=1),
    ],
}
CLOSED_BIASES = {
    "kind": "receptive-field",
    "biases": [
        bias("sandwich", [0.0, -1.0, -2.0], -1.0, 0.0, dim=128),
        bias("sandwich", [0.0, -2.0, -4.0], -2.0, 0.0, dim=256),
    ],
}
LANGUAGE_MODELS = {
    "extrapolation": EXTRAPOLATION,
    "by-position": BY_POSITION,
    "resolution": RESOLUTION,
    "receptive-field": RECEPTIVE_FIELD,
}
