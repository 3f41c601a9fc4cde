"""Scores of answers: by hand, with and without the end given, and from the output of fairseq."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.length.accuracy import answers, by_length, means, scores, system_scores
from fairseq_posenc.errors import InputError


def words(text):
    return [line.split() for line in text.split("|")]


def test_scores_by_hand():
    right = words("a b c|a b c|a b c|a")
    free = words("a b c|a b|a b c d|b")
    oracle = words("a b c c c|a b c c c|a x c c c|b b")
    found = scores(right, free, oracle)
    assert [row["exact"] for row in found] == [100, 0, 0, 0]
    assert [row["token"] for row in found] == [100, pytest.approx(200 / 3), 75, 0]
    # The second answer stopped too early, and is right once it is told to go on.
    assert [row["exact_oracle"] for row in found] == [100, 100, 0, 0]
    assert [row["token_oracle"] for row in found] == [100, 100, pytest.approx(200 / 3), 0]


token_lists = st.lists(st.sampled_from("ab"), min_size=1, max_size=6)


@given(right=token_lists, free=st.lists(st.sampled_from("ab"), max_size=6), more=st.lists(st.sampled_from("ab")))
def test_relations_between_the_scores(right, free, more):
    # A greedy answer without an end begins like the one with an end.
    (found,) = scores([right], [free], [[*free, *more, *"bbbbbb"]])
    assert found["exact"] <= found["token"] <= 100 and found["exact_oracle"] <= found["token_oracle"] <= 100
    assert found["exact"] <= found["exact_oracle"] and (found["token"] == 100) == (free == right)


def test_means_of_lengths():
    scored = [(1, dict.fromkeys(("exact", "token", "exact_oracle", "token_oracle"), value)) for value in (0, 100)]
    scored.append((3, scored[1][1]))
    assert {length: row["exact"] for length, row in by_length(scored).items()} == {1: 50, 3: 100}
    assert means([]) is None


LOG = "S-1\tb =\nH-1\t-0.5\t{}\nW-0\t0.1\tseconds\nS-0\ta =\nH-0\t-0.1\t{}\n"


def test_answers_of_language_models_are_what_follows_their_prompts(tmp_path):
    (tmp_path / "log").write_text(LOG.format("b = b b", "a ="))
    assert answers(tmp_path / "log", words("a =|b =")) == [[], ["b", "b"]]
    assert answers(tmp_path / "log") == [["a", "="], ["b", "=", "b", "b"]]
    with pytest.raises(InputError, match="answer 1 does not begin with its prompt"):
        answers(tmp_path / "log", words("a =|c ="))
    with pytest.raises(InputError, match="has 2 answers, but there are 3 prompts"):
        answers(tmp_path / "log", words("a =|b =|c ="))


def test_scores_of_a_system(tmp_path):
    (tmp_path / "test.output").write_text("a\nb b\n")
    (tmp_path / "test.prompt").write_text("a =\nb =\n")
    (tmp_path / "test.lengths").write_text("1\n2\n")
    (tmp_path / "free.log").write_text(LOG.format("b = b b", "a ="))
    (tmp_path / "oracle.log").write_text(LOG.format("b = b b b b", "a = a a a a"))
    (first, one), (second, two) = system_scores(tmp_path, tmp_path, decoder_only=True)
    assert (first, second) == (1, 2)
    assert (one["exact"], one["exact_oracle"], two["exact"]) == (0, 100, 100)
    with pytest.raises(InputError, match="1 free answers to 2 examples"):
        scores(words("a|b"), words("a"), words("a|b"))
