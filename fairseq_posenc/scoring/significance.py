"""Paired bootstrap resampling between systems (Koehn 2004), with sacreBLEU's implementation."""

import os
from contextlib import contextmanager

from sacrebleu.significance import PairedTest

from fairseq_posenc.errors import InputError

SAMPLES = 1000
SEED = 12345
#: sacreBLEU keeps the statistics of every sentence of every sample: 10,000 samples of 3,000 sentences take 3 GiB.
MOST_SAMPLES = 10_000
#: The significance levels of ++ and + in the tables of Zhang et al. (2023).
LEVELS = (0.05, 0.10)


def check_bootstrap(samples, seed):
    """Raise InputError for a number of samples or a seed out of range (0 means "no seed" to sacreBLEU)."""
    if samples < 1:
        raise InputError(f"{samples} bootstrap samples: at least 1 is needed, {SAMPLES} are usual")
    if samples > MOST_SAMPLES:
        raise InputError(f"{samples} bootstrap samples: at most {MOST_SAMPLES} fit into memory, {SAMPLES} are usual")
    if not 1 <= seed < 2**63:
        raise InputError(f"bootstrap seed {seed}: give 1 or more, below 2^63; {SEED} is usual")


def check_levels(levels):
    """Raise InputError unless the two levels are probabilities, the stricter one first."""
    strong, weak = levels
    if not 0 < strong < weak < 1:
        raise InputError(
            f"--levels {strong:g} {weak:g}: give two probabilities between 0 and 1, the smaller first, such as "
            f"{LEVELS[0]:g} {LEVELS[1]:g}"
        )


def mark(difference, p, levels=LEVELS):
    """Return the mark of a significant difference from the baseline: ``++`` or ``+`` better, ``--`` or ``-`` worse.

    The sign is doubled for p below the first level, single below the second, and empty otherwise.
    """
    strong, weak = levels
    sign = "+" if difference > 0 else "-"
    return 2 * sign if p < strong else sign if p < weak else ""


def paired_bootstrap(systems, metrics, samples=SAMPLES, seed=SEED):
    """Return ``{system: {metric: p}}`` for every system except the first, the baseline.

    systems: list of (name, hypotheses); metrics: ``{name: sacreBLEU metric}``, which contain their references;
    p: probability of a difference at least as large as the observed one if the two systems were equally good.

    Raises InputError as ``check_bootstrap`` does.
    """
    check_bootstrap(samples, seed)
    p_values = {name: {} for name, _ in systems[1:]}
    for metric_name, metric in metrics.items():
        with _sacrebleu_seed(seed):
            test = PairedTest(systems, {metric_name: metric}, references=None, test_type="bs", n_samples=samples)
            _, columns = test()
        columns.pop("System")
        (results,) = columns.values()
        for (name, _), result in zip(systems[1:], results[1:]):
            # sacreBLEU counts the larger differences only, so two equal systems would differ with certainty.
            p_values[name][metric_name] = 1.0 if result.score == results[0].score else result.p_value
    return p_values


@contextmanager
def _sacrebleu_seed(seed):
    """Set sacreBLEU's seed through its environment variable, the only way to do so."""
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before
