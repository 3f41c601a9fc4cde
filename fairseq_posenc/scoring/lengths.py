"""Scores by the length of the source sentence."""

import sys
from bisect import bisect_left

from tqdm import tqdm

from fairseq_posenc.errors import InputError
from fairseq_posenc.scoring import metrics
from fairseq_posenc.scoring.significance import LEVELS, SAMPLES, SEED, mark, paired_bootstrap
from fairseq_posenc.scoring.systems import notes_on, read_references, read_systems
from fairseq_posenc.scoring.text import read_lines
from fairseq_posenc.tables import aligned, bootstrap_marks, shown

BUCKETS = (10, 20, 30, 40, 50, 60, 80, 100, 150, 200)


def check_buckets(limits):
    """Raise InputError unless the upper limits of the buckets are positive and increasing."""
    if not limits or limits[0] < 1 or any(later <= earlier for earlier, later in zip(limits, limits[1:])):
        shown = ",".join(str(limit) for limit in limits)
        raise InputError(f"--buckets {shown}: give increasing numbers of words, at least 1, such as 10,20,30")


def length_scores(
    source_path, hypothesis_paths, reference_path=None, names=None, buckets=BUCKETS, training_source_path=None
):
    """Return the scores of files of translations by source length as a dict ready for JSON.

    The length of a sentence is its number of words in the source file, separated by white space. A bucket holds the
    sentences that are longer than the previous limit and not longer than its own; the last bucket holds sentences
    longer than all limits. Empty buckets are left out.

    ``buckets``: for each bucket ``from`` and ``to`` (words; ``to`` is None in the last bucket), ``longest`` (words of
    its longest sentence), ``sentences``, ``words`` (total), and ``scores`` and ``significance`` of ``part_scores``;
    ``bootstrap``: the baseline, samples, seed and levels of the latter, None for one system; ``longest_trained``: words
    of the longest line of ``training_source_path``, None without this file.

    Raises InputError if the buckets do not increase, a file cannot be read, or the files do not match.
    """
    check_buckets(buckets)
    systems = read_systems(hypothesis_paths, names)
    references = read_references(reference_path, systems)
    lengths = [len(line.split()) for line in read_lines(source_path)]
    if len(lengths) != len(references):
        raise InputError(
            f"--src {source_path} has {len(lengths)} lines but there are {len(references)} references; give the source "
            "of the same sentences, line by line"
        )
    longest_trained = None
    if training_source_path is not None:
        longest_trained = max(len(line.split()) for line in read_lines(training_source_path))
    members = [[] for _ in range(len(buckets) + 1)]
    for index, length in enumerate(lengths):
        members[bisect_left(buckets, length)].append(index)
    lowest = [0, *(limit + 1 for limit in buckets)]
    texts = {system.name: system.hypotheses for system in systems}
    not_empty = [(bounds, indices) for *bounds, indices in zip(lowest, [*buckets, None], members) if indices]
    return {
        "source": str(source_path),
        "references": str(systems[0].path if reference_path is None else reference_path),
        "lines": len(references),
        "systems": [{"name": system.name, "path": system.path} for system in systems],
        "signatures": {
            "bleu": metrics.signature(metrics.bleu_metric(references)),
            "chrf++": metrics.signature(metrics.chrf_metric(references)),
        },
        "bootstrap": bootstrap_of([system.name for system in systems]),
        "training_source": None if training_source_path is None else str(training_source_path),
        "longest_trained": longest_trained,
        "buckets": [
            {
                "from": first,
                "to": last,
                "longest": max(lengths[index] for index in indices),
                "sentences": len(indices),
                "words": sum(lengths[index] for index in indices),
                **part_scores(texts, references, indices),
            }
            for (first, last), indices in tqdm(not_empty, desc="length buckets", file=sys.stderr)
        ],
        "notes": notes_on(systems, references, from_systems=reference_path is None),
    }


def part_scores(texts, references, indices):
    """Score the sentences with these indices as a corpus of their own; ``texts``: {system: its translations}.

    Return a dict: ``scores``, {system: ``bleu`` and ``chrf++``, 0 to 100, and ``length_ratio``, words of the
    translations divided by words of the references}; and ``significance`` of the differences in BLEU from the first
    system: {other system: ``p`` by paired bootstrap, ``mark`` (see ``significance.mark``)}.
    """
    selected = [references[index] for index in indices]
    bleu, chrf = metrics.bleu_metric(selected), metrics.chrf_metric(selected)
    parts = [(name, [text[index] for index in indices]) for name, text in texts.items()]
    scores = {}
    for name, hypotheses in parts:
        result = bleu.corpus_score(hypotheses, None)
        scores[name] = {
            "bleu": result.score,
            "chrf++": metrics.score(chrf, hypotheses),
            "length_ratio": result.ratio,
        }
    baseline, *others = texts
    p_values = paired_bootstrap(parts, {"bleu": bleu}) if others else {}
    significance = {
        name: {"p": found["bleu"], "mark": mark(scores[name]["bleu"] - scores[baseline]["bleu"], found["bleu"])}
        for name, found in p_values.items()
    }
    return {"scores": scores, "significance": significance}


def bootstrap_of(names):
    """How ``part_scores`` compares the systems with these names; None for a single one."""
    return {"baseline": names[0], "samples": SAMPLES, "seed": SEED, "levels": list(LEVELS)} if names[1:] else None


def bucket_name(bucket):
    """Return ``11-20``, or ``over 200`` for the last bucket."""
    return f"over {bucket['from'] - 1}" if bucket["to"] is None else f"{bucket['from']}-{bucket['to']}"


def text_table(result):
    """Return a table of BLEU, chrF++ and the brevity ratio each, with a line per bucket and a column per system."""
    names = [system["name"] for system in result["systems"]]
    signatures = result["signatures"]
    lines = []
    for title, key, form in (
        (f"BLEU: {signatures['bleu']}", "bleu", "{:.2f}"),
        (f"chrF++: {signatures['chrf++']}", "chrf++", "{:.2f}"),
        ("brevity ratio: words of the translations / words of the references", "length_ratio", "{:.3f}"),
    ):
        rows = [["source words", "sentences", *names]]
        # All marks are padded to one width, so that the scores stay aligned.
        width = 2 if key == "bleu" and result["bootstrap"] else 0
        for bucket in result["buckets"]:
            marks = [bucket["significance"].get(name, {}).get("mark", "") if width else "" for name in names]
            cells = [
                shown(bucket["scores"][name][key], form, mark=sign.ljust(width)) for name, sign in zip(names, marks)
            ]
            rows.append([bucket_name(bucket), str(bucket["sentences"]), *cells])
        lines += [title, *aligned(rows, left=0), ""]
    if result["bootstrap"]:
        lines.append(bootstrap_marks(result["bootstrap"]["baseline"], result["bootstrap"]["levels"]))
    if result["longest_trained"] is not None:
        lines.append(f"longest source sentence in training: {result['longest_trained']} words")
    return "\n".join(lines).rstrip()
