"""Bash is for what one runs by hand: there is little of it."""

from tests.support.recipes import ROOT

SCRIPTS = sorted(path for folder in ("examples", "scripts") for path in (ROOT / folder).rglob("*.sh"))


def test_there_is_little_of_it():
    lines = {path: path.read_text().count("\n") for path in SCRIPTS}
    assert sum(lines.values()) <= 900
    assert not {path: count for path, count in lines.items() if count > 150}
