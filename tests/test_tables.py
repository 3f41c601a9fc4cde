"""Tables: cells, rows of text and rows of values."""

import pytest

from fairseq_posenc import tables
from fairseq_posenc.errors import InputError

ROWS = [["system", "BLEU", "p"], ["none", "7.1", ""], ["sinusoidal", "27.48", "0.01"]]


def test_rows_as_lines():
    assert tables.aligned(ROWS) == ["system       BLEU     p", "none          7.1", "sinusoidal  27.48  0.01"]
    assert tables.aligned(ROWS[:2], left=2) == ["system  BLEU  p", "none    7.1"]
    assert tables.aligned(ROWS[:2], left=0) == ["system  BLEU  p", "  none   7.1"]


def test_rows_in_markdown():
    assert tables.markdown(ROWS[:2]) == ["| system | BLEU | p |", "| --- | ---: | ---: |", "| none | 7.1 |  |"]
    assert tables.markdown(ROWS[:1], left=2)[1] == "| --- | --- | ---: |"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((5.267, "{:.2f}"), "5.27"),
        ((5.267, "{:.2f}", 0.333, "†"), "5.27 ± 0.33†"),
        ((0.0, "{:.0f}", None, "--"), "0--"),
        ((1.0, "{:.1f}", 0.0), "1.0 ± 0.0"),
        (("44100", "{:.2f}", "", "†"), "44100†"),
        (("5.3", "{:.2f}", "0.3"), "5.3 ± 0.3"),
        ((None, "{:.2f}"), "-"),
    ],
)
def test_cells(given, expected):
    assert tables.shown(*given) == expected


def test_means():
    assert tables.mean_and_deviation([1.0]) == (1.0, None)
    assert tables.mean_and_deviation([1.0, 3.0]) == (2.0, pytest.approx(2**0.5))


def test_groups():
    rows = [{"a": 1, "b": 2}, {"a": 3, "b": 2}, {"a": 1, "b": 2}]
    assert tables.groups(rows, "b") == {2: rows}
    assert tables.groups(rows, "a", "b") == {(1, 2): [rows[0], rows[2]], (3, 2): [rows[1]]}


def test_values_come_back_from_a_file(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text(tables.tsv([{"name": "a", "value": 0.1}, {"name": "b", "value": None}]))
    assert path.read_text() == "name\tvalue\na\t0.1\nb\t\n"
    rows = tables.read_tsv(path)
    assert rows == [{"name": "a", "value": "0.1"}, {"name": "b", "value": ""}]
    assert tables.typed(rows, {"value": float}, path) == [{"value": 0.1}, {"value": None}]


@pytest.mark.parametrize(
    ("text", "told"),
    [("a\tb\n", "has a header but no rows"), ("\n", "only empty lines"), ("a\tb\n1\n", "line 2 has 1 cells but")],
)
def test_bad_files_are_one_line(tmp_path, text, told):
    (tmp_path / "x.tsv").write_text(text)
    with pytest.raises(InputError, match=told):
        tables.read_tsv(tmp_path / "x.tsv")
