"""Means, deviations and t-tests over seeds, by hand; what happens without scipy."""

import math
import sys

import pytest

from fairseq_posenc.analysis.extrapolation_summary import summary, t_test
from fairseq_posenc.analysis.extrapolation_table import text_table
from fairseq_posenc.errors import InputError


def cells(name, values, pattern="full", length=64):
    return [
        {"name": name, "pattern": pattern, "length": length, "pair": pair, "perplexity": value, "tokens": 7}
        for pair, value in enumerate(values)
    ]


def row_of(rows, name, pattern="full"):
    return next(row for row in rows if (row["name"], row["pattern"]) == (name, pattern))


def p_of_two_degrees(t):
    """Student's t with two degrees of freedom has a closed form."""
    return 1 - t / math.sqrt(t * t + 2)


def test_mean_deviation_and_t_test():
    rows = summary([*cells("ours", [5.0, 6.0, 7.0]), *cells("other", [6.0, 8.0, 10.0])], "ours")
    ours, other = rows
    assert (ours["perplexity"], ours["deviation"], ours["seeds"], ours["p"], ours["mark"]) == (6.0, 1.0, 3, None, "")
    # Differences 1, 2, 3: t = 2 / (1 / sqrt 3).
    assert other["p"] == pytest.approx(p_of_two_degrees(2 * math.sqrt(3))) and other["p"] > 0.05 and other["mark"] == ""


@pytest.mark.parametrize(("offset", "mark"), [(2.0, "†"), (-2.0, "*")])
def test_marks(offset, mark):
    """Pairs count: the deviation over seeds is larger than the difference."""
    ours, other = [10.0, 20.0, 30.0], [10.0 + offset, 20.1 + offset, 29.9 + offset]
    rows = summary([*cells("ours", ours), *cells("other", other)], "ours")
    row = row_of(rows, "other")
    assert row["mark"] == mark and row["p"] == pytest.approx(p_of_two_degrees(2 / 0.1 * math.sqrt(3)))
    assert row_of(summary([*cells("ours", ours), *cells("other", other)], "other"), "ours")["mark"] == (
        "*" if mark == "†" else "†"
    )


def test_what_cannot_be_tested():
    """One seed, other numbers of seeds, equal values, losses that are not finite, other lengths."""
    for ours, other in (
        ([5.0], [6.0]),
        ([5.0, 6.0], [6.0, 8.0, 9.0]),
        ([5.0, 6.0], [5.0, 6.0]),
        ([5.0, None], [6.0, 8.0]),
        ([5.0, 6.0], [None, 8.0]),
    ):
        rows = summary([*cells("ours", ours), *cells("other", other)], "ours")
        assert row_of(rows, "other")["p"] is None and row_of(rows, "other")["mark"] == ""
    rows = summary([*cells("ours", [5.0, 6.0]), *cells("other", [7.0, 8.5], length=128)], "ours")
    assert row_of(rows, "other")["p"] is None
    assert row_of(summary(cells("ours", [5.0, None]), "ours"), "ours")["perplexity"] is None


def test_patterns_are_compared_with_the_baselines_first():
    rows = summary(
        [*cells("ours", [5.0, 6.0, 7.0]), *cells("ours", [6.0, 7.1, 8.0], "window:8"), *cells("x", [5.0, 6.5, 7.1])],
        "ours",
    )
    assert row_of(rows, "ours", "window:8")["mark"] == "†" and row_of(rows, "ours")["p"] is None
    assert row_of(rows, "x")["p"] is not None
    rows = summary([*cells("x", [5.0, 6.5, 7.1], "window:8"), *cells("ours", [5.0, 6.0, 7.0])], "ours")
    assert row_of(rows, "x", "window:8")["p"] is not None


def test_table():
    both = [*cells("ours", [10.0, 20.0, 30.0]), *cells("other", [12.0, 22.1, 31.9])]
    record = {
        "summary": summary([*both, *cells("ours", [9.0, None, 8.0], length=128)], "ours"),
        "cells": both,
        "protocol": {"name": "pieces"},
        "text": {"trimmed": 1500},
        "baseline": "ours",
    }
    assert text_table(record).split("\n") == [
        "length           ours          other",
        "    64  20.00 ± 10.00  22.00 ± 9.95†",
        "   128     not finite",
        "perplexity per token, pieces, 7 tokens scored at every length",
        "without the last 1,500 tokens of the text, which fill no piece of every length",
        "ours is significantly better (†) or worse (*): paired t-test, 5 %",
    ]


def test_scipy_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(InputError, match=r"needs scipy; install it with: pip install 'fairseq-posenc\[analysis\]'"):
        t_test()
