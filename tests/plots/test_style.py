"""Systems look the same in every figure and differ within one; drawing without matplotlib ends in one line."""

import subprocess
import sys

from fairseq_posenc.encodings import encoding_names
from fairseq_posenc.plots.style import line_styles


def look(style):
    return style["color"], style["linestyle"]


def test_every_encoding_has_a_line_of_its_own():
    styles = line_styles([*encoding_names(), "stock"])
    assert len({look(style) for style in styles.values()}) == len(encoding_names()) + 1


def test_a_system_looks_the_same_in_every_figure():
    for name in (*encoding_names(), "my-system"):
        assert line_styles([name])[name] == line_styles(["sinusoidal", name, "shaw"])[name] or name == "my-system"
    assert line_styles(["my-system"]) == line_styles(["my-system"])


def test_other_names_differ_within_a_figure():
    names = [f"system-{number}" for number in range(12)] + ["rope", "alibi"]
    assert len({look(style) for style in line_styles(names).values()}) == len(names)


def test_many_names_differ_in_their_markers():
    """The systems of a table of positions, more than there are colours and dashes."""
    names = [f"{name}{text}" for name in encoding_names() for text in ("", "-joined", "-random", "-random-joined")]
    assert len({tuple(style.values()) for style in line_styles(names).values()}) == len(names) > 32


def test_without_matplotlib_the_cure_is_named(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None; from fairseq_posenc.cli import main; "
        "sys.exit(main(['plot', 'x.json', '--output', 'y']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'fairseq-posenc[plots]'" in done.stderr and done.stderr.count("\n") == 1
