"""The training text with a share of joined sentences: what is joined, how many, and that nothing is lost."""

from collections import Counter

import pytest

from examples.wmt14.corpus import joined_training
from fairseq_posenc.errors import InputError


def numbered(count, words=1):
    """Pairs of sentences, the number of each as ``words`` words of the source and twice as many of the target."""
    return [tuple(b" ".join([b"%d" % number] * words * times) for times in (1, 2)) for number in range(count)]


def numbers(line):
    return list(dict.fromkeys(map(int, line[0].split())))


def test_half_of_the_sentences_are_in_groups_and_all_stay_in_order():
    lines = list(joined_training.joined_training(numbered(1800), 250))
    groups = [numbers(line) for line in lines]
    assert [number for group in groups for number in group] == list(range(1800))
    assert Counter(map(len, groups)) == {1: 900, 2: 100, 3: 100, 4: 100}
    assert all(list(dict.fromkeys(map(int, target.split()))) == numbers((source,)) for source, target in lines)
    # Single sentences are as frequent near the beginning as elsewhere.
    assert [len(group) for group in groups[:12]] == [2, 1, 1, 3, 1, 1, 1, 4, 1, 1, 1, 1]


def test_no_group_is_longer_than_the_limit_on_either_side():
    pairs = numbered(180, words=20)
    lines = list(joined_training.joined_training(pairs, 80))
    assert [number for line in lines for number in numbers(line)] == list(range(180))
    lengths = [len(numbers(line)) for line in lines]
    assert max(lengths) == 2  # 80 words of the target, though the source has 40
    # A sentence that is too long by itself stays as it is.
    assert list(joined_training.joined_training(pairs, 10)) == pairs


@pytest.mark.parametrize("count", [0, 1, 2, 19])
def test_the_end_of_the_text_ends_a_group(count):
    lines = list(joined_training.joined_training(numbered(count), 250))
    assert [number for line in lines for number in numbers(line)] == list(range(count))


def test_files(tmp_path):
    texts = {"en": "a b\nc\n\u2028 d\n", "de": "A\n\nB\u0085C\n"}
    for language, text in texts.items():
        (tmp_path / f"in.{language}").write_text(text, encoding="utf-8")
    joined_training.main([str(tmp_path / "in"), str(tmp_path / "out"), "en", "de"])
    assert (tmp_path / "out.en").read_text(encoding="utf-8") == "a b c\n\u2028 d\n"
    assert (tmp_path / "out.de").read_text(encoding="utf-8") == "A \nB\u0085C\n"


@pytest.mark.parametrize(("target", "message"), [("A\n", "different numbers of lines"), (None, "cannot read .*in.de")])
def test_sides_that_do_not_match_are_refused(target, message, tmp_path):
    (tmp_path / "in.en").write_text("a\nb\n")
    (tmp_path / "out.en").write_text("old\n")
    if target:
        (tmp_path / "in.de").write_text(target)
    with pytest.raises(InputError, match=message):
        joined_training.main([str(tmp_path / "in"), str(tmp_path / "out"), "en", "de"])
    assert (tmp_path / "out.en").read_text() == "old\n"
