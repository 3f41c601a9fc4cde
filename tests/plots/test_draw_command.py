"""``fairseq-posenc draw``: every registered encoding is drawn, and bad input is one line before anything is written."""

from argparse import Namespace

import matplotlib.image
import pytest
import torch

from fairseq_posenc.analysis.by_distance import curves, untrained
from fairseq_posenc.cli import main
from fairseq_posenc.encodings import encoding_names
from fairseq_posenc.plots.encoding import draw
from fairseq_posenc.plots.results import read_results
from fairseq_posenc.tables import read_tsv

CODE = "[__import__('os').system('touch PWNED')]"


@pytest.fixture(scope="module")
def figure(tmp_path_factory):
    """The stem of one figure of all registered encodings."""
    stem = tmp_path_factory.mktemp("draw") / "figure"
    assert main(["draw", *encoding_names(), "--heads", "2", "--distance", "6", "--output", str(stem)]) == 0
    return stem


@pytest.mark.parametrize("name", encoding_names())
def test_every_registered_encoding_draws_itself(figure, name):
    rows = [row for row in read_tsv(f"{figure}.tsv") if row["encoding"] == name]
    assert {row["side"] for row in rows} == {"encoder", "decoder"}
    distances = {int(row["distance"]) for row in rows if row["side"] == "decoder"}
    assert distances == set(range(7))
    # What cope adds starts at zero.
    assert len({row["value"] for row in rows}) > 1 or name in ("none", "cope")


def test_the_picture_has_a_panel_for_each_encoding_and_side(figure):
    _, results = read_results([f"{figure}.tsv"])
    panels = [panel for panel in draw(results).axes if panel.axison]
    expected = {(row["encoding"], row["side"], row["measure"]) for row in results["figure"]}
    assert len(panels) == len(expected) and all(panel.lines for panel in panels)
    titles = [panel.get_title(loc="left").replace(" (untrained)", "") for panel in panels]
    assert sorted(titles) == sorted(f"{encoding}, {side}" for encoding, side, _ in expected)
    assert matplotlib.image.imread(f"{figure}.png")[..., :3].std() > 0.03


def test_several_encodings_and_heads(tmp_path):
    words = ["draw", "alibi", "rope", "alibi", "--heads", "4", "--distance", "3", "--output", str(tmp_path / "x")]
    assert main(words) == 0
    rows = read_tsv(tmp_path / "x.tsv")
    decoder = [row for row in rows if row["side"] == "decoder"]
    slopes = {
        row["head"]: float(row["value"]) for row in decoder if (row["encoding"], row["distance"]) == ("alibi", "1")
    }
    assert slopes == {"1": -1 / 4, "2": -1 / 16, "3": -1 / 64, "4": -1 / 256}
    assert {row["head"] for row in decoder if row["encoding"] == "rope"} == {""}
    assert {row["weights"] for row in rows} == {"fixed"}
    assert main(["draw", "t5", "--heads", "1", "--distance", "2", "--output", str(tmp_path / "t5")]) == 0
    assert {row["weights"] for row in read_tsv(tmp_path / "t5.tsv")} == {"initial"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give encodings, or --checkpoint; known encodings: adaptive-t5"),
        (["alibbi"], "did you mean alibi"),
        (["alibi", "--heads", "0"], "--heads must be at least 1, but is 0"),
        (["alibi", "--distance", "0"], "--distance must be at least 1, but is 0"),
        (["alibi", "--distance", "100001"], "--distance must be at most 100000, but is 100001"),
        (["alibi", "--heads", "257"], "--heads must be at most 256, but is 257"),
        (["alibi", "--layer", "2"], "--layer 2 needs --checkpoint"),
        (["alibi", "--checkpoint", "x.pt"], "leave out alibi"),
        (["--heads", "4", "--checkpoint", "x.pt"], "leave out --heads 4"),
        (["--checkpoint", "x.pt"], "x.pt: no such file"),
        (["alibi", "posnet-embed", "--distance", "512"], "but posnet-embed has 512"),
        (["alibi", "--output", "no/such/stem"], "the folder"),
    ],
)
def test_mistakes_end_in_one_line(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    assert main(["draw", "--output", "figure", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.strip().count("\n") == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["shaw", "xpos", "alibi", "sinusoidal"])
def test_long_distances_are_drawn_in_points(name):
    """Near distances all, far ones in even steps; the numbers are those of a short curve."""
    (far, _), (near, _) = (untrained([name], 2, longest) for longest in (100_000, 40))
    for measure, (distances, values) in curves(far[0], 100_000).items():
        assert len(distances) < 5000 and distances[-1] == 100_000 and values.isfinite().all()
        of_distance = dict(zip(distances, values.T.tolist()))
        for distance, column in zip(curves(near[0], 40)[measure][0], curves(near[0], 40)[measure][1].T.tolist()):
            assert of_distance[distance] == pytest.approx(column, abs=1e-5)


def test_a_checkpoint_with_nonsense_for_settings(tmp_path, capsys):
    settings = {"arch": "x", "decoder_position_encoding": "alibi", "decoder_embed_dim": 8, "decoder_layers": 1}
    for number, change in enumerate(
        ({"decoder_attention_heads": "x"}, {"decoder_attention_heads": 2, "alibi_shift": CODE})
    ):
        state = {"args": Namespace(**settings, **change), "cfg": None, "model": {"x": torch.zeros(1)}}
        torch.save(state, tmp_path / "model.pt")
        words = ["draw", "--checkpoint", str(tmp_path / "model.pt"), "--output", str(tmp_path / f"figure{number}")]
        assert main(words) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and ("must be a whole number" in error or "--alibi-shift must be of" in error)
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]
