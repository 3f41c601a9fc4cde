"""What fairseq-generate prints comes back as it went in."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairseq_posenc.errors import InputError
from fairseq_posenc.scoring.generate_output import is_generate_output, parse_generate_output

# All that can stand in a line: tabs, carriage returns and U+2028 too, which other ways of cutting lines trip over.
TEXT = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=20)
SCORE = st.one_of(st.floats(max_value=0), st.sampled_from([-1e-05, float("nan"), float("-inf")]))


@st.composite
def samples(draw):
    """A list of (source, reference, [(score, hypothesis, detokenised), ...] best first)."""
    nbest = draw(st.integers(1, 3))
    hypotheses = st.lists(st.tuples(SCORE, TEXT, TEXT), min_size=nbest, max_size=nbest)
    return draw(st.lists(st.tuples(TEXT, TEXT, hypotheses), min_size=1, max_size=12))


def printed(samples, order, with_target=True, with_detokenized=True):
    """Return the lines that fairseq-generate prints for the samples in the order of its batches."""
    lines = ["2024-05-01 12:00:00 | INFO | fairseq_cli.generate | loading model(s) from checkpoint_best.pt"]
    for sample in order:
        source, reference, hypotheses = samples[sample]
        lines.append(f"S-{sample}\t{source}")
        if with_target:
            lines.append(f"T-{sample}\t{reference}")
        for score, hypothesis, detokenized in hypotheses:
            lines.append(f"H-{sample}\t{score}\t{hypothesis}")
            if with_detokenized:
                lines.append(f"D-{sample}\t{score}\t{detokenized}")
            lines.append(f"P-{sample}\t-0.1234 -0.5678")
    lines.append("Generate test with beam=5: BLEU4 = 26.60, 57.7/32.3/20.4/13.3 (BP=1.000, ratio=1.000)")
    return lines


@given(samples(), st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_round_trip(samples, shuffler, with_target, with_detokenized):
    order = list(range(len(samples)))
    shuffler.shuffle(order)
    lines = printed(samples, order, with_target, with_detokenized)
    assert is_generate_output(lines)
    output = parse_generate_output(lines, "generate-test.txt")
    assert output.sources == [source for source, _, _ in samples]
    assert output.references == ([reference for _, reference, _ in samples] if with_target else None)
    assert output.hypotheses == [hypotheses[0][1] for _, _, hypotheses in samples]
    assert output.detokenized == ([hypotheses[0][2] for _, _, hypotheses in samples] if with_detokenized else None)
    assert output.best_text == (output.detokenized if with_detokenized else output.hypotheses)


@given(st.lists(TEXT, max_size=12))
def test_plain_text_is_not_taken_for_it(lines):
    assert not is_generate_output(lines)


@pytest.mark.parametrize(
    "line", ["H-1", "H-12 bomb", "H-1\ttext", "D-day\t-0.5\ttext", "T-1000\ttext", " H-1\t-0.5\ta"]
)
def test_plain_text_that_resembles_it(line):
    assert not is_generate_output([line])


def test_samples_are_sorted_by_number_not_by_digits():
    samples = [(f"s{n}", f"t{n}", [(-0.5, f"h{n}", f"d{n}")]) for n in range(12)]
    order = sorted(range(12), key=str)
    assert parse_generate_output(printed(samples, order), "x").detokenized == [f"d{n}" for n in range(12)]


def test_empty_hypotheses_keep_their_place():
    samples = [("a", "b", [(-0.5, "", "")]), ("c", "d", [(-1e-05, "e", "e")])]
    assert parse_generate_output(printed(samples, [1, 0]), "x").best_text == ["", "e"]


def test_only_the_hypotheses_cut_out_with_grep():
    output = parse_generate_output(["H-1\t-0.5\tb", "H-0\t-0.25\ta"], "x")
    assert (output.best_text, output.references, output.detokenized) == (["a", "b"], None, None)


def lines_of(count=10):
    return printed([(f"s{n}", f"t{n}", [(-0.5, f"h{n}", f"d{n}")]) for n in range(count)], range(count))


def test_interrupted_output_is_refused():
    lines = [line for line in lines_of() if not line.startswith(("H-4", "D-4"))]
    with pytest.raises(InputError, match=r"^gen\.out lacks H-4 \(9 of 10 samples\): .*translate the whole set$"):
        parse_generate_output(lines, "gen.out")


def test_a_sample_that_is_missing_altogether_is_refused():
    lines = [line for line in lines_of() if "-0\t" not in line]
    with pytest.raises(InputError, match="lacks S-0"):
        parse_generate_output(lines, "gen.out")


def test_two_runs_in_one_file_are_refused():
    with pytest.raises(InputError, match="gen.out has S-0 twice"):
        parse_generate_output(lines_of() + lines_of(), "gen.out")


def pairs(hypothesis, detokenized, reference):
    return parse_generate_output(["T-0\t" + reference, "H-0\t-1\t" + hypothesis, "D-0\t-1\t" + detokenized], "x")


def test_tokenized_pairs():
    plain = pairs("ein Test .", "ein Test .", "der Test .")
    assert plain.tokenized_pairs() == (["ein Test ."], ["der Test ."])
    joined = pairs("ein Te@@ st .", "ein Test .", "der Test .")
    assert joined.tokenized_pairs() == (["ein Test ."], ["der Test ."])


@pytest.mark.parametrize("hypothesis", ["ein Test .", "▁ein ▁Test ."])
def test_no_tokenized_pairs_after_detokenisation(hypothesis):
    with pytest.raises(InputError, match="detokenised its T- lines"):
        pairs(hypothesis, "ein Test.", "der Test.").tokenized_pairs()


def test_no_tokenized_pairs_without_references():
    with pytest.raises(InputError, match="no T- lines"):
        parse_generate_output(["H-0\t-1\ta"], "x").tokenized_pairs()


def test_large_output_keeps_order():
    samples = [(str(n), str(n), [(-1.0, str(n), str(n))]) for n in range(3003)]
    order = list(range(3003))
    random.Random(1).shuffle(order)
    assert parse_generate_output(printed(samples, order), "x").best_text == [str(n) for n in range(3003)]
