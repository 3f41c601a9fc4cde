"""Joining tables of other seeds: as if one run had made them."""

import json

import pytest

from examples.wmt14 import join_seeds, table
from fairseq_posenc.errors import InputError
from tests.support.recipes import WMT14
from tests.wmt14.test_table import home  # noqa: F401


@pytest.fixture
def part(home, tmp_path):  # noqa: F811
    """A function of seeds that makes their table and returns its path."""

    def make(*seeds, only=("none", "sinusoidal")):
        options = ["--pairs", "en-de", "--size", "base", "--rows", str(WMT14 / "rows" / "table1.tsv")]
        table.main([str(home), str(tmp_path / "table1"), *options, "--seeds", *seeds, "--only", *only])
        path = tmp_path / f"{'-'.join([*seeds, *only])}.json"
        return (tmp_path / "table1.json").rename(path)

    return make


def joined(folder, *paths):
    join_seeds.main([str(folder / "joined"), *map(str, paths)])
    return json.loads((folder / "joined.json").read_text(encoding="utf-8"))


def test_the_joined_table_is_that_of_one_run(part, tmp_path):
    whole = json.loads(part("1", "2").read_text(encoding="utf-8"))
    found = joined(tmp_path, part("2"), part("1"))
    for key in ("kind", "schema", *join_seeds.SAME, "seeds", "pairs"):
        assert found[key] == whole[key]
    assert found["pairs"]["en-de"]["systems"][0]["bleu_deviation"] == pytest.approx(0.7071, abs=1e-4)
    assert [origin["command"][:6] for origin in found["joined"]] == [whole["command"][:6]] * 2
    assert "51.50 ± 0.71--" in (tmp_path / "joined.md").read_text(encoding="utf-8")


def test_tables_that_do_not_fit_together_are_refused(part, tmp_path):
    with pytest.raises(InputError, match="both have seed 2; join results of other runs"):
        joined(tmp_path, part("1", "2"), part("2"))
    with pytest.raises(InputError, match="have different pairs or systems; join tables of the same systems"):
        joined(tmp_path, part("1"), part("2", only=["sinusoidal"]))
    other = part("2")
    record = json.loads(other.read_text(encoding="utf-8"))
    for key, value in (("sentences", 4), ("signatures", {})):
        pair = {**record["pairs"]["en-de"], key: value}
        other.write_text(json.dumps({**record, "pairs": {"en-de": pair}}), encoding="utf-8")
        with pytest.raises(InputError, match=f"has {key} {value}, but .*; join results that agree"):
            joined(tmp_path, part("1"), other)
    none, sinusoidal = record["pairs"]["en-de"]["systems"]
    pair = {**record["pairs"]["en-de"], "systems": [{**none, "parameters": 7}, sinusoidal]}
    other.write_text(json.dumps({**record, "pairs": {"en-de": pair}}), encoding="utf-8")
    with pytest.raises(InputError, match="has parameters 7, but .*; join results that agree"):
        joined(tmp_path, part("1"), other)
    (tmp_path / "bands.json").write_text('{"kind": "length-bands", "schema": 1}')
    with pytest.raises(InputError, match="is no kind that can be joined; known kinds: table"):
        joined(tmp_path, tmp_path / "bands.json")
    assert not (tmp_path / "joined.json").exists()
