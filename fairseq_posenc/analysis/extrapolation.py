"""Perplexity by length under one protocol, which scores the same tokens at every length."""

import hashlib
import math
from dataclasses import asdict

import numpy as np

from fairseq_posenc.analysis.extrapolation_protocols import ByPosition, scored_tokens
from fairseq_posenc.analysis.extrapolation_summary import summary
from fairseq_posenc.analysis.extrapolation_table import text_table
from fairseq_posenc.analysis.grid import Measurement
from fairseq_posenc.analysis.token_losses import token_losses
from fairseq_posenc.errors import InputError


class Extrapolation(Measurement):
    """The measurement of ``fairseq-posenc extrapolate``.

    Args:
        protocol: see extrapolation_protocols.py.
        baseline: name of the system that the others are compared with; None: the first.
        max_tokens: tokens per batch.
    """

    command, kinds, unit = "extrapolate", ("extrapolation", "by-position"), "token"

    def __init__(self, protocol, baseline=None, max_tokens=16384):
        self.protocol, self.baseline, self.max_tokens = protocol, baseline, max_tokens
        self.shortest, self.needs = protocol.shortest, f"protocol {protocol.name}"
        self.kind = "by-position" if isinstance(protocol, ByPosition) else "extrapolation"
        self._token_sets = {}

    def prepare(self, text, lengths):
        return super().prepare(text.first(self.protocol.used(len(text), lengths)), lengths)

    def setting(self):
        return {"protocol": {"name": self.protocol.name, **asdict(self.protocol)}}

    def inputs(self, length):
        return int(sizes(self._windows({"length": length, "pair": 0})).max())

    def check_cell(self, cell, saved):
        tokens = self._token_set(cell["pair"])
        for other in saved:
            if other["pair"] == cell["pair"] and other["token_set"] != tokens:
                raise InputError(
                    f"the --json file scored other tokens at length {other['length']}, because its longest length was "
                    "different; choose another --json file for these lengths"
                )

    def steps(self, cell):
        return int(sizes(self._windows(cell)).sum())

    def check_names(self, names):
        self.baseline = names[0] if self.baseline is None else self.baseline
        if self.baseline not in names:
            known = ", ".join(dict.fromkeys(names))
            raise InputError(f"--baseline {self.baseline} is not among the systems; give one of {known}")

    def fields(self, cells, saved):
        return {"baseline": self.baseline, "summary": summary(cells, self.baseline)}

    def measure(self, loaded, cell, progress):
        windows = self._windows(cell)
        losses, counts = token_losses(loaded.model, self.text, windows, self.max_tokens, progress)
        scored = np.flatnonzero(counts)
        if counts.max() > 1 or token_set(self.text, scored) != self._token_set(cell["pair"]):
            raise RuntimeError(f"{cell['path']}, length {cell['length']}: scored other tokens than the protocol's")
        numbers = {"tokens": len(scored), "token_set": token_set(self.text, scored), **mean_loss(losses[scored])}
        if isinstance(self.protocol, ByPosition):
            by_position = losses.reshape(-1, cell["length"])
            firsts = self.protocol.buckets(cell["length"])
            parts = np.split(by_position, firsts[1:], axis=1)
            numbers["positions"] = {"from": firsts.tolist(), "loss": [mean_loss(part)["loss"] for part in parts]}
        return numbers

    def table(self, record):
        return text_table(record)

    def _windows(self, cell):
        return self.protocol.windows(len(self.text), cell["length"], max(self.lengths), cell["pair"])

    def _token_set(self, pair):
        """The hash of the scored tokens, after checking that it is the same at every length."""
        if pair in self._token_sets:
            return self._token_sets[pair]
        hashes = {}
        for length in self.lengths:
            index = np.sort(scored_tokens(self._windows({"length": length, "pair": pair})))
            hashes[length] = token_set(self.text, index)
        if len(set(hashes.values())) > 1:
            raise RuntimeError(f"protocol {self.protocol.name} scores different tokens at different lengths: {hashes}")
        self._token_sets[pair] = hashes[self.lengths[0]]
        return self._token_sets[pair]


def sizes(windows):
    """The number of tokens in each window."""
    return windows[:, 1] - windows[:, 0]


def token_set(text, index):
    """A hash of the tokens at these ascending positions of the text, and of the positions themselves."""
    return hashlib.sha256(index.astype(np.int64).tobytes() + text.tokens.numpy()[index].tobytes()).hexdigest()[:16]


def mean_loss(losses):
    """Mean loss in nats per token and perplexity, both None if a loss is not finite; and the number of such tokens."""
    not_finite = int((~np.isfinite(losses)).sum())
    if not_finite:
        return {"loss": None, "perplexity": None, "not_finite": not_finite}
    loss = float(losses.mean())
    # exp overflows beyond 709 nats.
    return {"loss": loss, "perplexity": math.exp(loss) if loss < 700 else None, "not_finite": 0}
