"""The search for the best hypotheses of one batch: fairseq's, step for step, with less work in each step."""

import math
from typing import TYPE_CHECKING, Any

import torch
from fairseq.search import BeamSearch

from fairseq_posenc.errors import InputError
from fairseq_posenc.generation.candidates import Candidates, best_continuations
from fairseq_posenc.generation.finished import Finished
from fairseq_posenc.generation.prefix import Prefix
from fairseq_posenc.generation.stepwise import Stepwise

if TYPE_CHECKING:
    from fairseq_posenc.generation.generator import FastGenerator

#: Tokens of prefixes whose probabilities are computed at once.
PREFIX_ROWS = 256


class Search:
    """One batch of B sentences.

    Until hypotheses of a sentence can differ, there is one row per sentence: in the first step, and while a prefix
    forces the next token of all sentences. Then there is one per hypothesis. Finished sentences leave the batch.

    In each step, the host reads one small tensor: how many hypotheses of each sentence have ended.

    Args:
        settings: the generator, with fairseq's options.
        sample: fairseq's batch.
        prefix: (B, P), what hypotheses begin with, padded on the right; or None.
        first_token: what every hypothesis follows; it is no part of the result.

    Raises:
        InputError: no hypothesis can have the minimum length.
    """

    def __init__(
        self, settings: "FastGenerator", sample: dict[str, Any], prefix: torch.Tensor | None, first_token: int
    ) -> None:
        source = sample["net_input"]["src_tokens"]
        batch, source_length = source.shape
        self.settings, self.beam = settings, settings.beam_size
        self.max_len = min(int(settings.max_len_a * source_length + settings.max_len_b), settings.max_len - 1)
        if settings.min_len > self.max_len:
            raise InputError(
                f"--min-len {settings.min_len} exceeds the longest hypothesis, {self.max_len} tokens; give a smaller "
                "--min-len, or larger --max-len-a and --max-len-b"
            )
        self.models = Stepwise(
            list(settings.model.models),
            settings.model.forward_encoder(sample["net_input"]),
            settings.temperature,
            settings.needs_attention,
            longest=self.max_len + 1,
            device=source.device,
        )
        self.prefix = None if prefix is None else Prefix(prefix, settings.pad, settings.eos, self.max_len)

        #: Rows per sentence.
        self.width = 1
        #: Of each row: its tokens; the log-probability up to and with each token that follows the first one; and the
        #: attention over the source at each token, (N, S, max_len + 2), where it is asked for.
        self.tokens = torch.full((batch, self.max_len + 2), settings.pad, dtype=torch.long, device=source.device)
        self.tokens[:, 0] = first_token
        self.scores = torch.zeros(batch, self.max_len + 1, device=source.device)
        self.attention: torch.Tensor | None = None
        #: Of each remaining sentence: its index in the batch (also on the host), how many of its hypotheses have ended,
        #: and which of its rows stand for none, as there were too few candidates.
        self.sentences, self.remaining = torch.arange(batch, device=source.device), list(range(batch))
        self.ended = torch.zeros_like(self.sentences)
        self.void = torch.zeros(batch, self.beam, dtype=torch.bool, device=source.device)
        self.finished = Finished(batch, self.beam, self.max_len + 1, source.device)

    def run(self) -> list[list[dict[str, Any]]]:
        """For each sentence, its hypotheses as fairseq's generator returns them, best first."""
        first = self.prefix.forced if self.prefix is not None and self.beams else 0
        features = self._follow_prefix(first)
        for step in range(first, self.max_len + 1):
            log_probs = self.models.log_probs([x[:, -1] for x in features])
            self._restrict(step, log_probs)
            candidates = self._candidates(step, log_probs)
            ends = candidates.tokens.eq(self.settings.eos) & candidates.scores.ne(-math.inf)
            ends[:, : self.beam] &= ~self.void
            going_on = self._end_hypotheses(step, candidates, ends[:, : self.beam])
            if not any(going_on):
                break
            self._continue(step, candidates, ends, going_on)
            features = self._read(step + 1)
        return self.finished.hypotheses()

    @property
    def beams(self) -> bool:
        """Whether the search is plain beam search, not one of fairseq's other strategies."""
        return type(self.settings.search) is BeamSearch

    def _read(self, step: int) -> list[torch.Tensor]:
        """Features (N, T, C) of each model for the tokens before this step that it has not read."""
        features, attention = self.models.read(self.tokens[:, : step + 1])
        if attention is not None:
            if self.attention is None:
                self.attention = attention.new_zeros(len(self.tokens), attention.size(2), self.max_len + 2)
            stop = step + 2
            self.attention[:, :, stop - attention.size(1) : stop] = attention.transpose(1, 2)
        return features

    def _follow_prefix(self, count: int) -> list[torch.Tensor]:
        """Read the first token and ``count`` tokens that are given to all sentences; return the features of all."""
        if self.prefix is None or not count:
            return self._read(0)
        given = self.prefix.tokens[:, :count]
        self.tokens[:, 1 : count + 1] = given
        features = self._read(count)
        # Some columns at a time: their logits are many.
        size = max(1, PREFIX_ROWS // len(given))
        for start in range(0, count, size):
            columns = slice(start, min(start + size, count))
            log_probs = self.models.log_probs([x[:, columns].flatten(0, 1) for x in features])
            self._hide_special(log_probs)
            self.scores[:, columns] = log_probs.gather(1, given[:, columns].reshape(-1, 1)).view(len(given), -1)
        scores = self.scores[:, :count]
        scores.masked_fill_(scores.isnan(), -math.inf)
        torch.cumsum(scores, dim=1, out=scores)
        return features

    def _hide_special(self, log_probs: torch.Tensor) -> None:
        """No padding, and the penalty of unknown words."""
        log_probs[:, self.settings.pad] = -math.inf
        if self.settings.unk_penalty:
            log_probs[:, self.settings.unk] -= self.settings.unk_penalty

    def _restrict(self, step: int, log_probs: torch.Tensor) -> None:
        """Give tokens that cannot follow no probability. A prefix goes before the other limits, as in fairseq."""
        settings = self.settings
        self._hide_special(log_probs)
        if step == self.max_len:
            log_probs[:, : settings.eos] = -math.inf
            log_probs[:, settings.eos + 1 :] = -math.inf
        if self.prefix is not None and self.prefix.covers(step):
            self.prefix.force(step, log_probs)
            if self.prefix.ends(step):
                self._end_alike(self.prefix.ending(step), log_probs)
            return
        if step < settings.min_len:
            log_probs[:, settings.eos] = -math.inf
        if settings.token_indices_to_suppress is not None:
            log_probs[:, settings.token_indices_to_suppress.to(log_probs.device)] = -math.inf

    def _end_alike(self, ending: torch.Tensor, log_probs: torch.Tensor) -> None:
        """Give all hypotheses of the sentences ``ending`` (B,) what the first one of their sentence has."""
        rows = torch.arange(len(self.tokens), device=ending.device)
        rows = torch.where(ending.repeat_interleave(self.width), rows // self.width * self.width, rows)
        for x in (self.tokens, self.scores, log_probs):
            x.copy_(x.index_select(0, rows))

    def _candidates(self, step: int, log_probs: torch.Tensor) -> Candidates:
        vocab_size, width = log_probs.size(1), self.width
        if self.beams:
            choices = vocab_size if step == 0 else self.beam * vocab_size
            before = self.scores[:, step - 1] if step else None
            return best_continuations(log_probs, before, width, min(2 * self.beam, choices - 1))
        log_probs = log_probs.masked_fill_(log_probs.isnan(), -math.inf).view(-1, width, vocab_size)
        scores = self.scores[:, :step].unflatten(0, (-1, width))
        # fairseq's strategies expect a whole beam in the first step too.
        log_probs, scores = (x.expand(-1, self.beam, -1).contiguous() for x in (log_probs, scores))
        found = self.settings.search.step(step, log_probs, scores, self.tokens[:, : step + 1], self.sentences)
        return Candidates(found[0], found[1], found[2].clamp(max=width - 1))

    def _end_hypotheses(self, step: int, candidates: Candidates, ending: torch.Tensor) -> list[bool]:
        """Keep the candidates ``ending`` (B, beam) among the first ``beam``; return which sentences go on."""
        ranks = self.ended.unsqueeze(1) + ending.cumsum(dim=1) - 1
        kept = ending & (ranks < self.beam)
        self.ended = self.ended + kept.sum(dim=1)
        counts = self.ended.tolist()  # the one read of this step
        if counts != [self.finished.counts[sentence] for sentence in self.remaining]:
            none = torch.full_like(ranks, self.beam)
            places = self.sentences.unsqueeze(1) * (self.beam + 1) + torch.where(kept, ranks, none)
            self._keep(step, candidates, places.flatten())
            for sentence, count in zip(self.remaining, counts):
                self.finished.counts[sentence] = count
        return [count < self.beam and step < self.max_len for count in counts]

    def _keep(self, step: int, candidates: Candidates, places: torch.Tensor) -> None:
        """Put the first ``beam`` candidates of each sentence, which end, into ``places`` (B x beam,) of Finished."""
        rows = self._rows(candidates)[:, : self.beam].flatten()
        tokens = self.tokens.index_select(0, rows)[:, 1 : step + 2]
        tokens[:, step] = self.settings.eos
        sums = self.scores.index_select(0, rows)[:, : step + 1]
        sums[:, step] = candidates.scores[:, : self.beam].flatten()
        token_scores = sums.diff(dim=1, prepend=sums.new_zeros(len(sums), 1))
        scores = sums[:, step]
        if self.settings.normalize_scores:
            scores = scores / (step + 1) ** self.settings.len_penalty
        attention = None if self.attention is None else self.attention.index_select(0, rows)[:, :, 1 : step + 2]
        self.finished.add(places, tokens, token_scores, scores, attention)

    def _rows(self, candidates: Candidates) -> torch.Tensor:
        """(B, K), the row that each candidate continues."""
        first = torch.arange(0, len(self.tokens), self.width, device=self.tokens.device)
        return first.unsqueeze(1) + candidates.parents

    def _continue(self, step: int, candidates: Candidates, ends: torch.Tensor, going_on: list[bool]) -> None:
        """Go on with the best ``beam`` candidates that have not ended, in the sentences that go on."""
        rows, sentences, void = self._rows(candidates), None, self.void
        if not all(going_on):
            places = [place for place, goes_on in enumerate(going_on) if goes_on]
            sentences = torch.tensor(places).to(rows.device, non_blocking=True)  # the host does not wait
            self.remaining = [s for s, goes_on in zip(self.remaining, going_on) if goes_on]
            chosen = (rows, ends, void, self.sentences, self.ended)
            rows, ends, void, self.sentences, self.ended = (x.index_select(0, sentences) for x in chosen)
            candidates = candidates.select(sentences)
            if self.prefix is not None:
                self.prefix.select(sentences)
        # In their order, those that have ended last.
        ended = torch.cat([ends[:, : self.beam] | void, ends[:, self.beam :]], dim=1)
        order = ended * ended.size(1) + torch.arange(ended.size(1), device=rows.device)
        order, active = order.topk(self.beam, dim=1, largest=False)
        self.void = order >= ended.size(1)
        rows = rows.gather(1, active).flatten()

        same = self._is_same(rows, sentences)
        if not same:
            self.tokens, self.scores = (x.index_select(0, rows) for x in (self.tokens, self.scores))
            if self.attention is not None:
                self.attention = self.attention.index_select(0, rows)
            self.models.reorder(rows, sentences)
        self.tokens[:, step + 1] = candidates.tokens.gather(1, active).flatten()
        self.scores[:, step] = candidates.scores.gather(1, active).flatten()
        self.width = self.beam

    def _is_same(self, rows: torch.Tensor, sentences: torch.Tensor | None) -> bool:
        """Whether these are all rows in their order, as far as can be told without waiting for a GPU."""
        if sentences is not None or len(rows) != len(self.tokens):
            return False
        return self.beam == 1 or (rows.device.type == "cpu" and torch.equal(rows, torch.arange(len(rows))))
