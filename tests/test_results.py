"""Saved results: their kinds, what docs/results.md says of them, and the committed ones."""

import json
import re
from pathlib import Path

import pytest

from examples.length import table_text as length_text
from examples.lm import length_table_text
from examples.wmt14 import bands_text, table_text
from fairseq_posenc.errors import InputError
from fairseq_posenc.plots.results import KINDS
from fairseq_posenc.results import SCHEMAS, UNNAMED, labelled, new_result, read_result, result_tsv, write_result
from fairseq_posenc.tables import read_tsv

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = re.split(r"^## `(.+)`$", (ROOT / "docs" / "results.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
GENERAL, SECTIONS = SECTIONS[0], dict(zip(SECTIONS[1::2], SECTIONS[2::2]))
COMMITTED = sorted((ROOT / "examples").glob("*/results/**/*.*"))
JSON, TSV = ([path for path in COMMITTED if path.suffix == ending] for ending in (".json", ".tsv"))
TEXTS = {
    "table": table_text,
    "length-bands": bands_text,
    "length-table": length_table_text,
    "length-tasks": length_text,
}


def name(path):
    return str(path.relative_to(ROOT / "examples"))


def named_fields(text):
    return set(re.findall(r"`([^`]+)`", text))


def test_every_kind_is_in_the_documentation():
    assert set(SECTIONS) == set(SCHEMAS) | set(KINDS)
    for kind, schema in SCHEMAS.items():
        assert f"Schema {schema}," in SECTIONS[kind], kind
    for kind, module in KINDS.items():
        # table and quickstart are drawn by the columns of scores.
        wanted = set(module.COLUMNS) - named_fields(SECTIONS[kind] + SECTIONS["scores"])
        assert not wanted, f"{kind}: {wanted}"


@pytest.mark.parametrize("path", JSON, ids=name)
def test_committed_json_names_its_kind_and_has_no_unknown_field(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    assert list(record)[:2] == ["kind", "schema"] and record["schema"] == SCHEMAS[record["kind"]]
    assert set(record) <= named_fields(GENERAL + SECTIONS[record["kind"]])
    if record["kind"] in TEXTS:
        text = TEXTS[record["kind"]]
        assert path.with_suffix(".md").read_text(encoding="utf-8") == text.as_markdown(record)
        assert path.with_suffix(".tsv").read_text(encoding="utf-8") == text.as_tsv(record)


@pytest.mark.parametrize("path", TSV, ids=name)
def test_committed_tsv_names_its_kind(path):
    (kind,) = {row["kind"] for row in read_tsv(path)}
    assert list(read_tsv(path)[0])[0] == "kind" and set(KINDS[kind].REQUIRED) <= set(read_tsv(path)[0])


def test_a_result_says_where_it_came_from(tmp_path):
    write_result(tmp_path / "x.json", "cost", {"workload": {}})
    record = read_result(tmp_path / "x.json", ("cost",), "is read", "give one")
    assert list(record)[:3] == ["kind", "schema", "workload"] and record["versions"]["torch"] and record["command"]
    assert list(new_result("cost", {}))[2:] == [field for field in list(record) if field != "workload"][2:]
    assert labelled("corpus", {"train": 1}) == {"kind": "corpus", "schema": 1, "train": 1}
    assert result_tsv("cost", [{"a": 1}, {"a": None}]) == "kind\ta\ncost\t1\ncost\t\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read .*: No such file or directory; give one"),
        ("{", "is not JSON .*; give one"),
        ("[]", "names no kind of result; known kinds: cost, grain"),
        ('{"kind": "lengths"}', "holds 'lengths', which is no kind that is read; known kinds: cost, grain"),
        (
            '{"kind": "cost", "schema": 2}',
            "schema 2 of cost, but this version reads up to 1; update fairseq-posenc",
        ),
        ('{"kind": "cost", "schema": "x"}', "has schema x of cost"),
    ],
)
def test_what_cannot_be_read_is_one_line(content, message, tmp_path):
    if content is not None:
        (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError, match=message):
        read_result(tmp_path / "x.json", ("cost", "grain"), "is read", "give one")


@pytest.mark.parametrize("kind", UNNAMED)
def test_older_results_are_told_by_their_fields(kind, tmp_path):
    (tmp_path / "x.json").write_text(json.dumps(dict.fromkeys(UNNAMED[kind])))
    assert read_result(tmp_path / "x.json", (kind,), "is read", "give one")["kind"] == kind
