"""What measured numbers show of a claim. That examples/CLAIMS.md is up to date is tested in test_readme_tables.py."""

import pytest

from examples.common.claims import (
    DOES_NOT_SHOW,
    OPPOSITE,
    SHOWS,
    Claim,
    Measured,
    Number,
    claim_table,
    close,
    falling,
    larger,
    lower_perplexity,
    marked,
)
from examples.lm.claims import SANDWICH, XPOS
from examples.wmt14.claims import POSNET


def number(value, deviation=None, mark=""):
    return Number("x", value, deviation=deviation, mark=mark)


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        (number(3.0), number(1.9), SHOWS),
        (number(3.0), number(2.1), DOES_NOT_SHOW),
        (number(2.1), number(3.0), DOES_NOT_SHOW),
        (number(1.9), number(3.0), OPPOSITE),
        (number(4.0, 1.5), number(2.0, 0.6), DOES_NOT_SHOW),
        (number(4.0, 1.3), number(2.0, 0.6), SHOWS),
    ],
)
def test_a_difference_counts_above_the_noise(one, other, verdict):
    assert larger(one, other, least=1.0).verdict == verdict


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [(98.9, 100.0, SHOWS), (99.1, 100.0, DOES_NOT_SHOW), (100.0, 99.1, DOES_NOT_SHOW), (100.0, 98.9, OPPOSITE)],
)
def test_perplexities_differ_by_more_than_one_percent(one, other, verdict):
    found = lower_perplexity(number(one), number(other))
    assert found == Measured(f"x {one:.1f}, x {other:.1f}", verdict)


@pytest.mark.parametrize(("mark", "better"), [("++", SHOWS), ("+", SHOWS), ("", DOES_NOT_SHOW), ("--", OPPOSITE)])
def test_marks_of_significance_decide(mark, better):
    worse = {SHOWS: OPPOSITE, OPPOSITE: SHOWS}.get(better, better)
    assert marked(number(1.0, mark=mark), number(9.0), better=True).verdict == better
    assert marked(number(1.0, mark=mark), number(9.0), better=False).verdict == worse


@pytest.mark.parametrize(("values", "verdict"), [((3, 2, 1), SHOWS), ((1, 2, 3), OPPOSITE), ((3, 1, 2), DOES_NOT_SHOW)])
def test_numbers_fall(values, verdict):
    assert falling([number(value) for value in values]).verdict == verdict


def test_numbers_are_close():
    assert close(number(1.04), number(1.0), most=0.05).verdict == SHOWS
    assert close(number(0.94), number(1.0), most=0.05).verdict == DOES_NOT_SHOW


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [
        ((SHOWS, SHOWS), SHOWS),
        ((OPPOSITE, OPPOSITE), OPPOSITE),
        ((SHOWS, OPPOSITE), DOES_NOT_SHOW),
        ((SHOWS, DOES_NOT_SHOW), DOES_NOT_SHOW),
    ],
)
def test_all_measurements_of_a_claim_must_show_it(verdicts, together):
    claim = Claim("1", "it is so", lambda: [Measured("a", verdict) for verdict in verdicts], note="here")
    assert claim_table([claim])[1] == ["1", "it is so", "a; a (here)", together]


@pytest.mark.parametrize("claims", [POSNET, XPOS, SANDWICH], ids=["posnet", "xpos", "sandwich"])
def test_the_results_decide_both_ways(claims):
    """Claims that no result could deny, or confirm, would say nothing."""
    verdicts = {row[-1] for row in claim_table(claims)[1:]}
    assert verdicts == {SHOWS, DOES_NOT_SHOW, OPPOSITE}
