"""How right the answers to test examples are: exact match and accuracy per token, from 0 to 100."""

from fairseq_posenc.errors import InputError
from fairseq_posenc.plots.length_task_rows import MEASURES
from fairseq_posenc.scoring.generate_output import parse_generate_output
from fairseq_posenc.scoring.text import read_lines
from fairseq_posenc.tables import groups


def exact(answer, right):
    """100 if the answer is right as a whole, else 0."""
    return 100.0 if answer == right else 0.0


def per_token(answer, right):
    """The share of the positions with the right token, of all positions of the longer one of the two."""
    same = sum(one == other for one, other in zip(answer, right))
    return 100.0 * same / max(len(answer), len(right))


def answers(log, prompts=None):
    """The answers in the output of fairseq-generate or fairseq-interactive, as lists of tokens.

    Args:
        log: Path.
        prompts: for language models, which repeat their prompt in front of the answer: the prompts, as lists of tokens.
    """
    found = [line.split() for line in parse_generate_output(read_lines(log), log).hypotheses]
    if prompts is None:
        return found
    if len(found) != len(prompts):
        raise InputError(f"{log} has {len(found)} answers, but there are {len(prompts)} prompts; generate them again")
    for number, (answer, prompt) in enumerate(zip(found, prompts)):
        if answer[: len(prompt)] != prompt:
            raise InputError(f"{log}: answer {number} does not begin with its prompt; generate the answers again")
    return [answer[len(prompt) :] for answer, prompt in zip(found, prompts)]


def scores(right, free, oracle):
    """For each example, {measure: 0 to 100}.

    Args:
        right: the right answers, as lists of tokens.
        free: the answers of a model, with the end that it chose.
        oracle: its answers without an end; they are cut where the right answer ends.
    """
    for name, found in (("free", free), ("oracle", oracle)):
        if len(found) != len(right):
            raise InputError(f"{len(found)} {name} answers to {len(right)} examples; generate them again")
    cut = [answer[: len(wanted)] for answer, wanted in zip(oracle, right)]
    return [
        {
            "exact": exact(ours, wanted),
            "token": per_token(ours, wanted),
            "exact_oracle": exact(told, wanted),
            "token_oracle": per_token(told, wanted),
        }
        for wanted, ours, told in zip(right, free, cut)
    ]


def system_scores(folder, raw, decoder_only):
    """[(length, {measure: 0 to 100})] of one trained system: one entry per test example.

    Args:
        folder: Path of the system, with free.log and oracle.log.
        raw: Path of the examples.
        decoder_only: whether the answers repeat their prompts.
    """
    right = [line.split() for line in read_lines(raw / "test.output")]
    prompts = [line.split() for line in read_lines(raw / "test.prompt")] if decoder_only else None
    found = scores(right, *(answers(folder / f"{kind}.log", prompts) for kind in ("free", "oracle")))
    return list(zip(map(int, read_lines(raw / "test.lengths")), found))


def means(scored):
    """{measure: mean} of a list of dictionaries; None without any."""
    return {measure: sum(one[measure] for one in scored) / len(scored) for measure in MEASURES} if scored else None


def by_length(scored):
    """{length: {measure: mean}} of pairs (length, scores)."""
    rows = [{"length": length, "scores": found} for length, found in scored]
    return {length: means([row["scores"] for row in of_length]) for length, of_length in groups(rows, "length").items()}
