"""Claims of the Sandwich paper that the committed results can test."""

from dataclasses import replace

from examples.common.claims import (
    OPPOSITE,
    SHOWS,
    Claim,
    Measured,
    Number,
    close,
    falling,
    holds,
    lower_perplexity,
)
from examples.lm.claims.perplexity import at, cell, every, falls, rises
from examples.lm.readme_tables import read

#: Two perplexities are the same if they differ by at most this share.
SAME = 0.005
TABLE3 = "sandwich-table3"


def beside_sandwich(system, factor):
    """A system of Table 3 at a length, with the p-value of the paired t-test against Sandwich."""
    number = at(TABLE3, system, factor)
    p = cell(TABLE3, system, factor)["p"]
    return replace(number, mark=f"(p = {p:.2f})")


def field(result, system):
    """The receptive field of a system, in tokens of 512."""
    record = read(f"small/{result}")
    (row,) = (row for row in record["texts"]["test"]["rows"] if row["system"] == system)
    return Number(f"`{system}`", row["values"]["512"]["value"], "{:.0f}")


def logarithmic():
    """The receptive fields of Figure 11."""
    return [field("sandwich-figure11", name) for name in ("sandwich", "sandwich-smoothed", "kerple-log", "t5-sqrt-dim")]


def logarithmic_fields():
    """Whether these fields are larger than the training length, and within 10 % of the largest one."""
    fields = [number.value for number in logarithmic()]
    return holds(min(fields) > max(128, 0.9 * max(fields)), *logarithmic())


def windows():
    """(window x layers, receptive field) of the models with windows, the smallest window first."""
    rows = read("small/sandwich-figure4")["texts"]["test"]["rows"]
    return [(row["values"]["512"]["bound"], row["values"]["512"]["value"]) for row in rows]


def window_text(pairs):
    return "fields of windows: " + ", ".join(f"{value:.0f} of {bound}" for bound, value in pairs)


def step_ratio(system):
    """The time of a training step relative to stock fairseq."""
    ratio = read("training-base-cpu")["training"][system]["ratio_to_stock"]
    return Number(f"step of `{system}`", ratio, "{:.2f}")


def bias_far_away(distance=1000):
    """Sandwich's bias at a distance, by its dimension, the smallest one first."""
    found = []
    for curve in sorted(read("sandwich-figure10")["biases"], key=lambda curve: curve["dim"]):
        nearest = min(range(len(curve["distance"])), key=lambda place: abs(curve["distance"][place] - distance))
        found.append(Number(f"dimension {curve['dim']}", curve["bias"][nearest]))
    return found


def fit():
    """The log curve that fits Sandwich's bias: factor and offset."""
    (curve,) = (curve for curve in read("sandwich-figure10")["biases"] if curve["dim"] == 128)
    found = curve["fits"]["all"]
    return Number("factor", found["a"], "{:.3f}"), Number("offset", found["b"], "{:.3f}")


def no_difference(one, other):
    """Whether two perplexities are the same but for the noise."""
    found = lower_perplexity(one, other)
    return holds(found.verdict not in (SHOWS, OPPOSITE), one, other)


def smoothed():
    """The smoothed form beside Sandwich, at all lengths."""
    pairs = [(beside_sandwich("sandwich-smoothed", factor), at(TABLE3, "sandwich", factor)) for factor in (1, 4, 16)]
    return [no_difference(*pair) for pair in pairs]


SANDWICH = [
    Claim(
        "6.2, Table 3",
        "Sinusoidal and Rotary do not extrapolate: perplexity rises at once (2x)",
        lambda: [rises(TABLE3, name, 1, 2) for name in ("sinusoidal", "rope")],
    ),
    Claim(
        "6.2",
        "at the training length, Sandwich is comparable with ALiBi and Rotary",
        lambda: [no_difference(at(TABLE3, "sandwich", 1), beside_sandwich(name, 1)) for name in ("alibi", "rope")],
    ),
    Claim(
        "6.2, Table 3",
        "Sandwich is better than ALiBi at 4x (arXiv, GitHub)",
        lambda: lower_perplexity(at(TABLE3, "sandwich", 4), beside_sandwich("alibi", 4)),
    ),
    Claim(
        "6.2, Table 3",
        "Sandwich is better than Sinusoidal and Rotary at 4x",
        lambda: [
            lower_perplexity(at(TABLE3, "sandwich", 4), beside_sandwich(name, 4)) for name in ("sinusoidal", "rope")
        ],
    ),
    Claim(
        "6.2",
        "Sandwich uses tokens beyond the training length: perplexity at 4x is lower than at 1x",
        lambda: falls(TABLE3, "sandwich", 1, 4),
    ),
    Claim(
        "Table 3",
        "KERPLE uses tokens beyond the training length: perplexity at 4x is lower than at 1x",
        lambda: falls(TABLE3, "kerple-log", 1, 4),
    ),
    Claim(
        "Table 3",
        "KERPLE is better than Sandwich at 4x",
        lambda: lower_perplexity(beside_sandwich("kerple-log", 4), at(TABLE3, "sandwich", 4)),
    ),
    Claim(
        "Table 3",
        "T5 is better than Sandwich at the training length",
        lambda: lower_perplexity(beside_sandwich("t5-sqrt-dim", 1), at(TABLE3, "sandwich", 1)),
    ),
    Claim(
        "Table 3",
        "T5 is worse than Sandwich at 16x",
        lambda: lower_perplexity(at(TABLE3, "sandwich", 16), beside_sandwich("t5-sqrt-dim", 16)),
    ),
    Claim(
        "4.4, Table 1",
        "ALiBi does not truly extrapolate: perplexity rises from 1x to 4x",
        lambda: rises(TABLE3, "alibi", 1, 4),
    ),
    Claim(
        "4.4, Table 1",
        "ALiBi ignores distant tokens: perplexity at 16x is that at 4x",
        lambda: close(*every(TABLE3, "alibi", (4, 16)), most=SAME),
    ),
    Claim("6.2, Table 3", "the smoothed form, a log curve, is as good as Sandwich", smoothed),
    Claim(
        "6.2, Figure 9",
        "Sandwich's bias is close to the curve -0.825 log(1 + distance) - 0.8",
        lambda: holds(abs(fit()[0].value + 0.825) < 0.05 and abs(fit()[1].value + 0.8) < 0.05, *fit()),
    ),
    Claim(
        "6.1, Figure 10",
        "a larger dimension makes Sandwich's bias fall more (at a distance of 1,000)",
        lambda: falling(bias_far_away()),
    ),
    Claim(
        "5",
        "the receptive field of windowed attention is at most window x layers",
        lambda: Measured(window_text(windows()), holds(all(value <= bound for bound, value in windows())).verdict),
    ),
    Claim(
        "5",
        "the empirical field is clearly smaller than that bound (below 80 %)",
        lambda: Measured(
            window_text(windows()), holds(all(value <= 0.8 * bound for bound, value in windows())).verdict
        ),
    ),
    Claim(
        "5.1, Figure 5",
        "ALiBi's field is the whole text (2,048 of 2,048 tokens)",
        lambda: holds(field("sandwich-figure5", "alibi").value >= 0.99 * 512, field("sandwich-figure5", "alibi")),
        note="of 512 tokens, trained on 128",
    ),
    Claim(
        "5.3, Figures 6, 7",
        "the fields of Sinusoidal and Rotary exceed the training length",
        lambda: [
            holds(number.value > 128, number)
            for number in (field("sandwich-figure7", "sinusoidal"), field("sandwich-figure6", "rope"))
        ],
        note="trained on 128 tokens",
    ),
    Claim(
        "6.3, Figure 11",
        "the fields of Sandwich, its smoothed form, KERPLE and T5 exceed the training length and are alike (10 %)",
        logarithmic_fields,
    ),
    Claim(
        "6.2",
        "a training step of T5 takes at least 5 % longer than one of Sandwich (the paper: 10 %)",
        lambda: holds(
            step_ratio("t5").value >= 1.05 * step_ratio("sandwich").value, *map(step_ratio, ("t5", "sandwich"))
        ),
    ),
]
