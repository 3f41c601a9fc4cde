"""Slow: every table and figure of both papers at SCALE=smoke, with all its systems."""

import json

import pytest

from tests.support.recipes import LM, rows, table

pytestmark = pytest.mark.slow

RESULTS = {line["name"]: line for line in table(LM / "results.tsv")}


@pytest.mark.parametrize("what", RESULTS)
def test_every_result(what, lm_smoke, lm_script):
    done = lm_script("reproduce.sh", what, SCALE="smoke", WORK=lm_smoke, JOBS=2)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    folder, result = lm_smoke / "smoke" / "stdlib" / "results", RESULTS[what]
    if result["rows"] == "-":
        assert all((folder / f"{what}.{ending}").stat().st_size > 500 for ending in ("json", "png", "pdf", "tsv"))
        return
    assert all((folder / f"{what}-test.{ending}").stat().st_size > 500 for ending in ("png", "pdf", "tsv"))
    record = json.loads((folder / f"{what}.json").read_text())
    found = record["texts"]["test"]["rows"]
    lengths = len(result["lengths"].split(","))
    for row in found:
        limited = row["system"] == "learned"
        assert len(row["values"]) == (1 if limited else lengths), row["row"]
        assert all(number["value"] is not None for number in row["values"].values())
    if result["systems"] == "*":
        patterns = sum(len(row["pattern"].split(",")) for row in rows(LM, result["rows"]))
        assert len(found) == patterns
    if what in ("sandwich-figure4", "sandwich-figure12"):
        # The receptive field of a window is never beyond its bound.
        assert all(number["value"] <= number["bound"] for row in found for number in row["values"].values())
