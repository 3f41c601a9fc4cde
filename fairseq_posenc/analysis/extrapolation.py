"""Perplexity by length: every checkpoint under every pattern at every length, by one protocol, resumable."""

import hashlib
import math
from dataclasses import asdict

import numpy as np
from tqdm import tqdm

from fairseq_posenc.analysis.extrapolation_protocols import ByPosition, scored_tokens
from fairseq_posenc.analysis.extrapolation_results import ResultsFile
from fairseq_posenc.analysis.language_model import load_model
from fairseq_posenc.analysis.systems import check_lengths
from fairseq_posenc.analysis.token_losses import token_losses


class Extrapolation:
    """One call of ``fairseq-posenc extrapolate``.

    Args:
        text: a Text.
        systems: [(path of a checkpoint, name of its system)]; several checkpoints of a name are its seeds, and the
            i-th of one name and the i-th of another are a pair.
        lengths, patterns: lists; a pattern may be "trained".
        protocol: see extrapolation_protocols.py.
        baseline: the name that others are compared with.
        results_path: the JSON file.
        overrides, precision, device: see load_model.
        max_tokens: of a batch.

    Raises:
        InputError: the text, a checkpoint, a length or a pattern does not fit, before the first forward pass.
    """

    def __init__(
        self,
        text,
        systems,
        lengths,
        patterns,
        protocol,
        baseline,
        results_path,
        overrides=None,
        precision="fp32",
        device="cpu",
        max_tokens=16384,
    ):
        self.protocol, self.lengths, self.patterns = protocol, lengths, patterns
        self.loading = {"overrides": overrides or {}, "precision": precision, "device": device}
        self.max_tokens = max_tokens
        check_lengths(lengths, protocol.shortest, f"protocol {protocol.name}")
        used = protocol.used(len(text), lengths)
        self.text, self.trimmed = text.first(used), len(text) - used
        self.results = ResultsFile(results_path, self._setting(), baseline)
        self._loaded, self._token_sets = None, {}
        self.cells = self._checked(systems)

    def run(self):
        """Compute the cells that the file does not hold yet, each saved when it is finished; return the record."""
        left = [cell for cell in self.cells if not self.results.holds(cell)]
        inputs = sum(int((windows[:, 1] - windows[:, 0]).sum()) for windows in map(self._windows, left))
        with tqdm(total=inputs, unit="token", unit_scale=True, disable=None) as bar:
            for cell in left:
                bar.set_description(f"{cell['name']} {cell['pattern']} {cell['length']}")
                self.results.add({**cell, **self._scores(cell, bar.update)})
        self.results.save()
        return self.results.record()

    def _setting(self):
        """What must be the same for cells to stand in one table."""
        return {
            "protocol": {"name": self.protocol.name, **asdict(self.protocol)},
            "text": {
                "data": self.text.data,
                "subset": self.text.subset,
                "tokens": len(self.text),
                "trimmed": self.trimmed,
                "sha256": self.text.sha256,
            },
            "precision": self.loading["precision"],
            "overrides": self.loading["overrides"],
        }

    def _checked(self, systems):
        """The cells asked for, once everything about them has been checked."""
        cells, checkpoints = {}, {}
        # Backwards, so that the one which is loaded last is the first to be used.
        for path, name in reversed(systems):
            loaded = self._load(path)
            patterns = loaded.pattern_names(self.patterns)
            for length in self.lengths:
                loaded.check_length(self._largest_input(length), length)
            checkpoints[path] = loaded.facts(name)
            cells[path] = patterns
        self.results.expect([checkpoints[path] for path, _ in systems])
        found = []
        for path, name in systems:
            pair = self.results.place(path)
            tokens = self._token_set(pair)
            for pattern in cells[path]:
                for length in self.lengths:
                    found.append({"path": path, "name": name, "pattern": pattern, "length": length, "pair": pair})
                    self.results.check_tokens(found[-1], tokens)
        return found

    def _windows(self, cell):
        return self.protocol.windows(len(self.text), cell["length"], max(self.lengths), cell["pair"])

    def _largest_input(self, length):
        windows = self.protocol.windows(len(self.text), length, max(self.lengths), 0)
        return int((windows[:, 1] - windows[:, 0]).max())

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

    def _scores(self, cell, progress):
        """Run the model over the text; return what a cell holds of it."""
        loaded = self._load(cell["path"])
        loaded.use_pattern(cell["pattern"])
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

    def _load(self, path):
        """The checkpoint's model; the last one asked for is kept."""
        if self._loaded is None or self._loaded.path != path:
            self._loaded = None  # before the next one takes its memory
            self._loaded = load_model(path, self.text, **self.loading)
        return self._loaded


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
