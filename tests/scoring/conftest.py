"""Files of translations; published outputs and scores of other people's systems, where they are at hand."""

import gzip
from pathlib import Path

import pytest

from tests.scoring.sentences import REFERENCES

ORACLES = Path(__file__).resolve().parents[3] / "shared" / "oracles"


@pytest.fixture(scope="session")
def oracle():
    """Return a function: relative name of an oracle's .gz file -> its lines, cut at line feeds only."""
    if not ORACLES.is_dir():
        pytest.skip("needs ../shared/oracles: published translations and their scores")

    def lines(name):
        return gzip.decompress((ORACLES / name).read_bytes()).decode("utf-8").rstrip("\n").split("\n")

    return lines


@pytest.fixture(scope="session")
def published(oracle):
    """Return a function: oracle folder -> {system: {column: text}} from its published_scores.tsv."""

    def scores(folder):
        header, *rows = (ORACLES / folder / "published_scores.tsv").read_text(encoding="utf-8").rstrip("\n").split("\n")
        return {row.split("\t")[0]: dict(zip(header.split("\t"), row.split("\t"))) for row in rows}

    return scores


@pytest.fixture
def write(tmp_path):
    """Return a function: writes lines to a file of tmp_path, returns its name."""

    def write_lines(name, lines):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return str(path)

    return write_lines


@pytest.fixture
def reference(write):
    return write("ref.de", REFERENCES)
