"""Systems that go on from another one: what a row says, the schedule of the rest, and what is trained before."""

from pathlib import Path

import pytest

from examples.common.origins import Origin, origin_of, with_origins
from fairseq_posenc.errors import InputError


def rows(**origins):
    return {name: {"name": name, "from": origin} for name, origin in origins.items()}


def test_the_rest_of_a_schedule():
    whole = [
        "--lr",
        "5e-3",
        "--warmup-updates",
        "5",
        "--max-update",
        "30",
        "--save-interval-updates",
        "6",
        "--seed",
        "8",
    ]
    rest = Origin("rope", 0.25).schedule(whole)
    assert rest == ["--lr", "5e-3", "--warmup-updates", "1", "--max-update", "7", *whole[6:7], "1", "--seed", "8"]
    assert whole[5] == "30"
    folder = Path("base/rope/seed1")
    assert Origin("rope", 0.25).options(folder) == ["--finetune-from-model", folder / "checkpoints/checkpoint_last.pt"]


def test_what_a_row_says():
    assert origin_of({"name": "none"}) is None and origin_of({"name": "none", "from": None}) is None
    assert (
        origin_of({"from": "rope:0.125"}) == Origin("rope", 0.125) and str(Origin("rope", 0.125)) == "from rope:0.125"
    )


@pytest.mark.parametrize("cell", ["rope", "rope:x", "rope:0", "rope:1.5", "rope:nan"])
def test_bad_cells_are_refused(cell):
    with pytest.raises(InputError, match=f"from {cell}: write NAME:SHARE"):
        origin_of({"from": cell})


def test_origins_come_first_though_others_are_chosen():
    known = rows(last="middle:0.5", middle="first:0.5", first=None, other=None)
    assert list(with_origins({"last": known["last"]}, known)) == ["first", "middle", "last"]
    assert list(with_origins(known, known)) == ["first", "middle", "last", "other"]


@pytest.mark.parametrize(
    "known", [rows(one="two:0.5"), rows(one="one:0.5"), rows(one="two:0.5", two="one:0.5")], ids=str
)
def test_origins_that_are_no_systems_are_refused(known):
    with pytest.raises(InputError, match="which is no other system of its row file"):
        with_origins(known, known)
