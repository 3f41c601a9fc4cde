"""How far systems differ as the n-gram grain of the score grows (Zhang et al. 2023, section 5 and Figure 4)."""

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
    """Return the scores of files of translations at every grain as a dict ready for JSON.

    ``grains``: for each of ``character`` (chrF with character n-grams up to n = 1..30 and word n-grams up to 2),
    ``word`` (chrF with character n-grams up to 6 and word n-grams up to n = 1..8) and ``bleu`` (BLEU with word n-grams
    up to n = 1..8) a list with, for each n, ``n``, sacreBLEU's ``signature``, ``scores`` (0 to 100) of all systems, and
    ``gaps``: the score of each system but the first less the score of the first. BLEU of long n-grams is smoothed by
    sacreBLEU where none matches, and reported as it is.

    Raises InputError where there are fewer than two systems, a file cannot be read or the files do not belong together.
    """
    systems = read_systems(hypothesis_paths, names)
    if len(systems) < 2:
        raise InputError("a gap needs two systems, but one --hyp was given; give the baseline first, then the others")
    references = read_references(reference_path, systems)
    with tqdm(total=(1 + len(BLEU_ORDERS)) * len(systems), desc="n-gram grains", file=sys.stderr) as progress:
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
    """Return the corpus's n-gram counts of a chrF metric: (characters, words), a triple of counts an order.

    The counts of an order do not depend on what other orders the metric has, so one pass over the text with the highest
    orders serves all; a pass for each of the 38 metrics would take minutes a system.
    """
    sums = [sum(column) for column in zip(*metric._extract_corpus_statistics(hypotheses, None))]
    triples = [sums[start : start + 3] for start in range(0, len(sums), 3)]
    return triples[: metric.char_order], triples[metric.char_order :]


def chrf_from_counts(metric, counts):
    """Return the score, 0 to 100, of a chrF metric whose orders are among those of ``counts``."""
    characters, words = counts
    triples = characters[: metric.char_order] + words[: metric.word_order]
    return metric._compute_score_from_stats([count for triple in triples for count in triple]).score


def _chrf_point(n, counts, char_order, word_order):
    # The references are in the counts already; the signature tells that there is one a sentence.
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
    """Return the baseline's scores and the others' gaps, one line a grain and n."""
    others = [system["name"] for system in result["systems"][1:]]
    rows = [["grain", "n", result["baseline"], *(f"{name} gap" for name in others)]]
    for grain, points in result["grains"].items():
        for point in points:
            gaps = [f"{point['gaps'][name]:+.2f}" for name in others]
            rows.append([grain, str(point["n"]), f"{point['scores'][result['baseline']]:.2f}", *gaps])
    return "\n".join(aligned(rows))
