"""Perplexity by length, by one protocol, from which every length has the same tokens scored."""

import hashlib
import math
from dataclasses import asdict

import numpy as np

from fairseq_posenc.analysis.extrapolation_protocols import ByPosition, scored_tokens
from fairseq_posenc.analysis.extrapolation_summary import summary
from fairseq_posenc.analysis.grid import Measurement
from fairseq_posenc.analysis.token_losses import token_losses
from fairseq_posenc.errors import InputError


class Extrapolation(Measurement):
    """What ``fairseq-posenc extrapolate`` measures.

    Args:
        protocol: see extrapolation_protocols.py.
        baseline: the name that others are compared with; None: the first.
        max_tokens: of a batch.
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
                    f"the file of --json has length {other['length']} with other scored tokens, since the greatest "
                    "length was another; choose another name for these lengths"
                )

    def steps(self, cell):
        return int(sizes(self._windows(cell)).sum())

    def check_names(self, names):
        self.baseline = names[0] if self.baseline is None else self.baseline
        if self.baseline not in names:
            known = ", ".join(dict.fromkeys(names))
            raise InputError(f"--baseline {self.baseline} is no system; give one of {known}")

    def fields(self, cells, saved):
        return {"baseline": self.baseline, "summary": summary(cells, self.baseline)}

    def measure(self, loaded, cell, progress):
        windows = self._windows(cell)
        losses, times = token_losses(loaded.model, self.text, windows, self.max_tokens, progress)
        scored = np.flatnonzero(times)
        if times.max() > 1 or token_set(self.text, scored) != self._token_set(cell["pair"]):
            raise RuntimeError(f"{cell['path']}, length {cell['length']}: not the tokens that were to be scored")
        numbers = {"tokens": len(scored), "token_set": token_set(self.text, scored), **mean_loss(losses[scored])}
        if isinstance(self.protocol, ByPosition):
            by_position = losses.reshape(-1, cell["length"])
            firsts = self.protocol.buckets(cell["length"])
            parts = np.split(by_position, firsts[1:], axis=1)
            numbers["positions"] = {"from": firsts.tolist(), "loss": [mean_loss(part)["loss"] for part in parts]}
        return numbers

    def _windows(self, cell):
        return self.protocol.windows(len(self.text), cell["length"], max(self.lengths), cell["pair"])

    def _token_set(self, pair):
        """The hash of the tokens that are scored, after a check that it is the same at every length."""
        if pair in self._token_sets:
            return self._token_sets[pair]
        found = {}
        for length in self.lengths:
            index = np.sort(scored_tokens(self._windows({"length": length, "pair": pair})))
            found[length] = token_set(self.text, index)
        if len(set(found.values())) > 1:
            raise RuntimeError(f"protocol {self.protocol.name} scores other tokens at other lengths: {found}")
        self._token_sets[pair] = found[self.lengths[0]]
        return self._token_sets[pair]


def sizes(windows):
    """How many tokens each window has."""
    return windows[:, 1] - windows[:, 0]


def token_set(text, index):
    """A hash of these tokens (ascending positions in the text, and which words they are)."""
    return hashlib.sha256(index.astype(np.int64).tobytes() + text.tokens.numpy()[index].tobytes()).hexdigest()[:16]


def mean_loss(losses):
    """Mean loss in nats a token, and the perplexity; None for what is not finite, with the number of such tokens."""
    broken = int((~np.isfinite(losses)).sum())
    if broken:
        return {"loss": None, "perplexity": None, "not_finite": broken}
    loss = float(losses.mean())
    # exp overflows beyond 709 nats.
    return {"loss": loss, "perplexity": math.exp(loss) if loss < 700 else None, "not_finite": 0}
