r"""Reading the output of ``fairseq-generate``.

It prints the following lines for each sentence, in the order of its batches (sentences of similar length together):

    S-7\tsource           T-7\treference
    H-7\tscore\thypothesis (after ``--remove-bpe``)
    D-7\tscore\thypothesis (detokenised: ``--bpe`` and ``--tokenizer`` undone)

with H- and D- once for each of the ``--nbest`` hypotheses, the best first, and log lines in between.
``fairseq-interactive`` prints the same lines except T-.
"""

import re
from dataclasses import dataclass
from typing import Optional

from fairseq_posenc.errors import InputError

SENTENCE = re.compile(r"([ST])-(\d{1,9})\t(.*)", re.DOTALL)
HYPOTHESIS = re.compile(r"([HD])-(\d{1,9})\t(-?(?:\d\S*|inf)|nan)\t(.*)", re.DOTALL)


@dataclass(frozen=True)
class GenerateOutput:
    """Sentences in the order of the data set (sample 0, 1, 2, ...); None for a kind of line missing from the file.

    ``sources`` S-, ``references`` T-, ``hypotheses`` H-, ``detokenized`` D-; only the best hypothesis of each sample.
    """

    sources: Optional[list[str]]
    references: Optional[list[str]]
    hypotheses: Optional[list[str]]
    detokenized: Optional[list[str]]

    @property
    def best_text(self):
        """The D- lines if there are any, else the H- lines."""
        return self.hypotheses if self.detokenized is None else self.detokenized

    def tokenized_pairs(self) -> tuple[list[str], list[str]]:
        """Return (hypotheses, references) that are both tokenised.

        fairseq undoes ``--bpe`` and ``--tokenizer`` on the T- and D- lines but not on the H- lines. So H- matches T-
        only if neither option was used, and D- matches T- if fairseq only joined ``@@`` pieces.

        Raises InputError, with the reason, if the file has no such pair.
        """
        if self.references is None:
            raise InputError("it has no T- lines (references)")
        if self.hypotheses is None:
            raise InputError("it has no H- lines (tokenised hypotheses)")
        if self.detokenized is None or self.detokenized == self.hypotheses:
            return self.hypotheses, self.references
        if self.detokenized == [join_pieces(line) for line in self.hypotheses]:
            return self.detokenized, self.references
        raise InputError(
            "fairseq-generate detokenised its T- lines but not its H- lines; "
            "run it with --remove-bpe and without --bpe and --tokenizer"
        )


def join_pieces(line):
    """Join subword pieces; subword-nmt marks all but the last piece of a word with a final ``@@``."""
    return (line + " ").replace("@@ ", "").rstrip()


def is_generate_output(lines):
    """Tell fairseq-generate output from plain text: it has a line ``H-n`` or ``D-n``, tab, score, tab, text."""
    return any(HYPOTHESIS.fullmatch(line) for line in lines)


def parse_generate_output(lines, path) -> GenerateOutput:
    """Collect the sentences of fairseq-generate output; ``path`` is its name in error messages.

    Raises InputError if a sample is missing (an interrupted or filtered run) or printed twice (several runs in one
    file).
    """
    by_kind = {"S": {}, "T": {}, "H": {}, "D": {}}
    for line in lines:
        match = SENTENCE.fullmatch(line) or HYPOTHESIS.fullmatch(line)
        if match is None:
            continue
        kind, sample, text = match[1], int(match[2]), match[match.lastindex]
        if kind in "ST" and sample in by_kind[kind]:
            raise InputError(f"{path} has {kind}-{sample} twice; give the output of one run of fairseq-generate")
        by_kind[kind].setdefault(sample, text)
    total = 1 + max(max(sentences) for sentences in by_kind.values() if sentences)
    return GenerateOutput(*(_in_order(by_kind[kind], total, kind, path) for kind in "STHD"))


def _in_order(sentences, total, kind, path):
    if not sentences:
        return None
    if len(sentences) < total:
        missing = next(sample for sample in range(total) if sample not in sentences)
        raise InputError(
            f"{path} lacks {kind}-{missing} ({len(sentences)} of {total} samples): fairseq-generate was interrupted, "
            "ran on a shard, or skipped long sentences; translate the whole set"
        )
    return [sentences[sample] for sample in range(total)]
