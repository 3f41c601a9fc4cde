"""Joining tables of bands: the systems of both, as if one run had made them."""

import json
import shutil

import pytest

from examples.wmt14 import bands, join
from fairseq_posenc.errors import InputError
from tests.wmt14.test_bands import command, home  # noqa: F401


@pytest.fixture
def parts(home, tmp_path):  # noqa: F811
    """A function of names that makes the table of these systems and returns its path."""
    trained = home / "en-de" / "base"
    shutil.copytree(trained / "rope-random", trained / "alibi")
    with (tmp_path / "rows.tsv").open("a") as rows:
        rows.write("alibi\talibi\t-\tjoined\n")

    def make(*names, seeds=("1", "2")):
        folder = tmp_path / "-".join(names)
        arguments = command(home, *seeds)
        arguments[1] = str(folder / "bands")
        folder.mkdir(exist_ok=True)
        bands.main([*arguments, "--only", *names])
        return folder / "bands.json"

    return make


def joined(folder, *paths):
    join.main([str(folder / "joined"), *map(str, paths), "--rows", str(folder / "rows.tsv")])
    return json.loads((folder / "joined.json").read_text())


def test_the_joined_table_is_that_of_one_run(parts, tmp_path):
    whole = json.loads(parts("sinusoidal", "rope-random", "alibi").read_text())
    found = joined(tmp_path, parts("sinusoidal", "alibi"), parts("sinusoidal", "rope-random"))
    for key in ("kind", "schema", *join.SAME, "systems"):
        assert found[key] == whole[key]
    assert [system["name"] for system in found["systems"]] == ["rope-random", "sinusoidal", "alibi"]
    assert [part["command"] for part in found["joined"]] == ["the command"] * 2
    assert (tmp_path / "joined.md").read_text().count("alibi") == 1


def test_tables_that_do_not_fit_together_are_refused(parts, tmp_path):
    one, other = parts("sinusoidal", "alibi"), parts("sinusoidal", "rope-random", "alibi")
    with pytest.raises(InputError, match="both have alibi; join results of other runs"):
        joined(tmp_path, one, other)
    with pytest.raises(InputError, match="has one system, so no baseline; run each part with the baseline"):
        joined(tmp_path, parts("sinusoidal"))
    with pytest.raises(InputError, match=r"has seeds \[1\], but .* has \[1, 2\]"):
        joined(tmp_path, one, parts("sinusoidal", "rope-random", seeds=["1"]))
    with pytest.raises(InputError, match="has bootstrap .*; join results that agree"):
        joined(tmp_path, one, parts("rope-random"))
    (tmp_path / "rows.tsv").write_text("name\tencoding\toptions\ttext\nsinusoidal\tsinusoidal\t-\tsingle\n")
    with pytest.raises(InputError, match="has no row alibi; give the row file of the tables"):
        joined(tmp_path, one)
