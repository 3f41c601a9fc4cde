"""The gap between systems as the n-grams of the score get longer (Zhang et al. 2023, section 5 and Figure 4)."""

import sys

from tqdm import tqdm

from fairseq_posenc.errors import InputError
from fairseq_posenc.scoring import metrics
from fairseq_posenc.scoring.systems import notes_on, read_references, read_systems
from fairseq_posenc.tables import aligned

# The panels (a), (b) and (c) of Figure 4: chrF with character n-grams up to n, chrF with word n-grams up to n, BLEU.
CHARACTER_ORDERS = range(1, 31)
WORD_ORDERS = range(1, 9)
BLEU_ORDERS = range(1, 9)


def grain_scores(hypothesis_paths, reference_path=None, names=None):
    """Return the scores of files of translations for all n-gram lengths as a dict ready for JSON.

    ``grains``: a list for each of ``character`` (chrF with character n-grams up to n = 1..30 and word n-grams up to 2),
    ``word`` (chrF with character n-grams up to 6 and word n-grams up to n = 1..8) and ``bleu`` (BLEU with word n-grams
    up to n = 1..8). The list has, for each n, ``n``, sacreBLEU's ``signature``, the ``scores`` (0 to 100) of all
    systems, and their ``gaps``: the score of a system minus the score of the first system. If no long n-gram matches,
    sacreBLEU smooths BLEU, and the smoothed score is reported.

    Raises InputError if there are fewer than two systems, a file cannot be read or the files do not match.
    """
    systems = read_systems(hypothesis_paths, names)
    if len(systems) < 2:
        raise InputError("a gap needs two systems, but there is one --hyp; give the baseline first, then the others")
    references = read_references(reference_path, systems)
    with tqdm(total=(1 + len(BLEU_ORDERS)) * len(systems), desc="n-gram scores", file=sys.stderr) as progress:
        counts = {}
        chrf = metrics.chrf_metric(references, max(CHARACTER_ORDERS), max(WORD_ORDERS))
        for system in systems:
            counts[system.name] = chrf_counts(chrf, system.hypotheses)
            progress.update()
        grains = {
            "character": [_chrf_point(n, counts, char_order=n, word_order=2) for n in CHARACTER_ORDERS],
            "word": [_chrf_point(n, counts, char_order=6, word_order=n) for n in WORD_ORDERS],
            "bleu": [_bleu_point(n, systems, references, progress) for n in BLEU_ORDERS],
        }
    return {
        "references": str(systems[0].path if reference_path is None else reference_path),
        "lines": len(references),
        "baseline": systems[0].name,
        "systems": [{"name": system.name, "path": system.path} for system in systems],
        "grains": grains,
        "notes": notes_on(systems, references, from_systems=reference_path is None),
    }


def chrf_counts(metric, hypotheses):
    """Return the corpus's n-gram counts of a chrF metric: (characters, words), a triple of counts per order.

    The counts of an order do not depend on the other orders of the metric, so one pass over the text with the highest
    orders is enough; separate passes for the 38 metrics would take minutes per system.
    """
    sums = [sum(column) for column in zip(*metric._extract_corpus_statistics(hypotheses, None))]
    triples = [sums[start : start + 3] for start in range(0, len(sums), 3)]
    return triples[: metric.char_order], triples[metric.char_order :]


def chrf_from_counts(metric, counts):
    """Return the score, 0 to 100, of a chrF metric; ``counts`` must include its orders."""
    characters, words = counts
    triples = characters[: metric.char_order] + words[: metric.word_order]
    return metric._compute_score_from_stats([count for triple in triples for count in triple]).score


def _chrf_point(n, counts, char_order, word_order):
    # The counts already include the references; the signature only needs their number, one per sentence.
    metric = metrics.chrf_metric([""], char_order, word_order)
    return _point(n, metric, {name: chrf_from_counts(metric, of_system) for name, of_system in counts.items()})


def _bleu_point(n, systems, references, progress):
    metric = metrics.bleu_metric(references, max_order=n)
    scores = {}
    for system in systems:
        scores[system.name] = metrics.score(metric, system.hypotheses)
        progress.update()
    return _point(n, metric, scores)


def _point(n, metric, scores):
    baseline = next(iter(scores))
    gaps = {name: score - scores[baseline] for name, score in scores.items() if name != baseline}
    return {"n": n, "signature": metrics.signature(metric), "scores": scores, "gaps": gaps}


def text_table(result):
    """Return the baseline's scores and the gaps of the other systems, one line per grain and n."""
    others = [system["name"] for system in result["systems"][1:]]
    rows = [["grain", "n", result["baseline"], *(f"{name} gap" for name in others)]]
    for grain, points in result["grains"].items():
        for point in points:
            gaps = [f"{point['gaps'][name]:+.2f}" for name in others]
            rows.append([grain, str(point["n"]), f"{point['scores'][result['baseline']]:.2f}", *gaps])
    return "\n".join(aligned(rows))
