"""The summary of an extrapolation: means over seeds, and which systems differ from the baseline."""

import statistics
from collections import defaultdict

from fairseq_posenc.errors import InputError
from fairseq_posenc.tables import BETTER, WORSE, mean_and_deviation

#: Level of the paired two-sided t-test (Chi et al. 2023, Table 3).
ALPHA = 0.05


def summary(cells, baseline):
    """A dictionary for each system, pattern and length, in the order of the cells.

    ``perplexity`` is the mean over seeds and ``deviation`` the sample standard deviation, None with one seed. ``p`` is
    the p-value of a paired two-sided t-test against ``baseline`` at the same length, under the pattern of the
    baseline's first cell; None unless both have the same seeds, two or more. ``mark``: BETTER if the baseline is
    significantly better, WORSE if it is significantly worse, else empty.
    """
    groups = defaultdict(dict)
    for cell in cells:
        groups[cell["name"], cell["pattern"], cell["length"]][cell["pair"]] = cell["perplexity"]
    first_pattern = next((cell["pattern"] for cell in cells if cell["name"] == baseline), None)
    rows = []
    for (name, pattern, length), by_seed in groups.items():
        finite = None not in by_seed.values()
        mean, deviation = mean_and_deviation(by_seed.values()) if finite else (None, None)
        row = {
            "name": name,
            "pattern": pattern,
            "length": length,
            "seeds": len(by_seed),
            "perplexity": mean,
            "deviation": deviation,
        }
        reference = groups.get((baseline, first_pattern, length), {})
        compared = finite and (name, pattern) != (baseline, first_pattern) and None not in reference.values()
        rows.append({**row, **(paired_test(by_seed, reference) if compared else {"p": None, "mark": ""})})
    return rows


def paired_test(values, reference):
    """p and mark of {seed: perplexity} against the {seed: perplexity} of the baseline."""
    if values.keys() != reference.keys() or len(values) < 2:
        return {"p": None, "mark": ""}
    seeds = sorted(values)
    differences = [values[seed] - reference[seed] for seed in seeds]
    if len(set(differences)) == 1:  # the statistic is 0/0 or infinite
        return {"p": None, "mark": ""}
    p = float(t_test()([values[seed] for seed in seeds], [reference[seed] for seed in seeds]).pvalue)
    mark = "" if p >= ALPHA else BETTER if statistics.fmean(differences) > 0 else WORSE
    return {"p": p, "mark": mark}


def t_test():
    """scipy's paired t-test. Raises InputError if scipy is missing."""
    try:
        from scipy.stats import ttest_rel
    except ModuleNotFoundError:
        raise InputError(
            "systems with several checkpoints are compared by a t-test, which needs scipy; install it with: "
            "pip install 'fairseq-posenc[analysis]'"
        ) from None
    return ttest_rel
