"""Results that were damaged or edited: they are drawn, or refused in one line that names the file."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairseq_posenc.plots.results import read_results
from tests.plots.test_plot_command import CURVES_TSV, ENCODING_TSV, RECORDS, TABLE_TSV
from tests.support.fuzzing import damaged_bytes, damaged_json, examples, is_refused

TSV = {"kernel-dim": TABLE_TSV, "encoding": ENCODING_TSV, "length-curves": CURVES_TSV}


def read(folder, name, content):
    """Write and read a file; return its kind and rows, or None if it was refused."""
    path = folder / name
    path.write_bytes(content)
    return None if is_refused(read_results, [path], names=path) else read_results([path])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.mark.parametrize("kind", RECORDS)
@examples(20)
@given(data=st.data())
def test_values(kind, folder, data):
    record = data.draw(damaged_json(RECORDS[kind]))
    read(folder, "damaged.json", json.dumps(record).encode())


@examples(30)
@given(data=st.data())
def test_bytes(folder, data):
    kind = data.draw(st.sampled_from([*RECORDS]))
    read(folder, "damaged.json", data.draw(damaged_bytes(json.dumps(RECORDS[kind]).encode())))


@pytest.mark.parametrize("kind", TSV)
@examples(20)
@given(data=st.data())
def test_tables(kind, folder, data):
    read(folder, "damaged.tsv", data.draw(damaged_bytes(TSV[kind].encode())))
