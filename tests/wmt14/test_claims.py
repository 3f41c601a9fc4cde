"""What the README says of translation by length is what the committed results say."""

import pytest

from examples.wmt14.readme_tables import read
from fairseq_posenc.plots.length_band_rows import rows_of_bands

BANDS = ("single", "joined", "beyond single", "beyond joined")
NEWS = "small-newstest/positions-bands-en-de"
ALL = ("small/positions-bands-en-de", "small/positions-bands-en-fr", NEWS, "small-newstest/positions-bands-en-fr")


def results(table):
    """{(training text, positions without their number, encoding): BLEU in each band}."""
    found = {}
    for row in rows_of_bands(read(table)):
        system = row["text"], row["positions"].split(":")[0], row["encoding"]
        found.setdefault(system, {})[row["band"]] = row["bleu"]
    return found


def beyond(table, text, positions):
    """{encoding: BLEU beyond all training lengths}, of the systems that are trained so."""
    return {name: bleu[BANDS[-1]] for (*trained, name), bleu in results(table).items() if trained == [text, positions]}


@pytest.mark.parametrize(("table", "count"), zip(ALL, (82, 82, 74, 80)))
def test_how_many_systems_there_are(table, count):
    assert len(results(table)) == count


@pytest.mark.parametrize("table", ALL)
def test_single_training_sentences_let_no_encoding_go_beyond_their_lengths(table):
    assert max(bleu[BANDS[-1]] for (text, _, _), bleu in results(table).items() if text == "single") < 2.65


@pytest.mark.parametrize("table", ALL)
def test_how_many_encodings_gain_nothing_from_joined_sentences_beyond_all_training_lengths(table):
    single, joined = beyond(table, "single", "index"), beyond(table, "joined", "index")
    assert len(single) == (21 if table.startswith("small/") else 19)
    lose = [name for name, bleu in single.items() if joined[name] <= bleu]
    assert len(lose) == (6 if table == NEWS else 0)


@pytest.mark.parametrize(("table", "highest"), zip(ALL, (23.0, 37.8, 2.3, 7.3)))
def test_the_best_beyond_all_training_lengths(table, highest):
    joined = beyond(table, "joined", "index")
    best = sorted(joined, key=joined.__getitem__, reverse=True)
    assert joined[best[0]] == pytest.approx(highest, abs=0.06)
    assert "dynamic-bias" in best[:5] and "transformer-xl" in best[:7]
    if table == ALL[0]:
        assert not {"deberta", "shaw"} & set(best[:6])
    else:
        assert set(best[:2]) == {"deberta", "shaw"}


@pytest.mark.parametrize("table", ALL)
def test_no_other_positions_reach_the_best_with_index(table):
    best = {}
    for (_, kind, _), bleu in results(table).items():
        best[kind] = max(bleu[BANDS[-1]], best.get(kind, 0))
    assert best["random"] < best["index"] and best["shift"] < best["index"]


@pytest.fixture(scope="module")
def news():
    """That of ``results`` for English-German news."""
    return results(NEWS)


@pytest.fixture(scope="module")
def bleu(news):
    """{(training text, encoding): BLEU in each band} with `index`."""
    return {(text, name): found for (text, kind, name), found in news.items() if kind == "index"}


def test_which_encodings_gain_from_joined_training_sentences(bleu):
    both = sorted(name for text, name in bleu if text == "single" and ("joined", name) in bleu)
    loses = {band: [name for name in both if bleu["joined", name][band] < bleu["single", name][band]] for band in BANDS}
    others = ["cope", "fire", "forgetting", "kerple-log", "sandwich", "sandwich-smoothed"]
    assert len(both) == 19 and loses["single"] == both
    assert loses["joined"] == sorted([*others, "kerple-power", "sinusoidal"])
    assert loses["beyond single"] == loses["beyond joined"] == others


def test_fire_trained_on_single_sentences_beyond_all_training_lengths(bleu):
    joined = [found["beyond joined"] for (text, _), found in bleu.items() if text == "joined"]
    assert len(joined) == 21
    assert sum(found < bleu["single", "fire"]["beyond joined"] for found in joined) == 17


def test_the_best_after_joined_sentences(bleu):
    joined = {name: found for (text, name), found in bleu.items() if text == "joined"}
    best = {band: max(joined, key=lambda name, band=band: joined[name][band]) for band in BANDS}
    assert list(best.values()) == ["dynamic-bias", "deberta", "deberta", "shaw"]


RELATIVE = [
    *("alibi", "deberta", "dynamic-bias", "kerple-log", "kerple-power", "rope", "sandwich", "sandwich-smoothed"),
    *("shaw", "t5", "xpos"),
]
TABLES = ["learned", "posnet-attn", "posnet-embed"]


@pytest.fixture(scope="module")
def lost(news, bleu):
    """{encoding: BLEU in each band with `index` minus that with `random`}, trained on joined sentences."""
    return {
        name: [bleu["joined", name][band] - numbers[band] for band in BANDS]
        for (text, kind, name), numbers in news.items()
        if (text, kind) == ("joined", "random")
    }


def test_random_positions_help_hardly_any_encoding(lost):
    helped = {name: [band for band, loss in zip(BANDS, losses) if loss < 0] for name, losses in lost.items()}
    # sinusoidal learns nothing with `index`, and adaptive-t5 little with either.
    others = {"sinusoidal": list(BANDS[:3]), "adaptive-t5": list(BANDS[1:]), "kerple-log": ["beyond single"]}
    assert helped == {**dict.fromkeys([*RELATIVE, *TABLES], []), **others}
    assert abs(lost["adaptive-t5"][0]) < 0.05 and lost["adaptive-t5"][3] == pytest.approx(-0.2, abs=0.05)


def test_what_encodings_lose_with_random_positions(lost):
    losses = {name: lost[name] for name in [*RELATIVE, "learned"]}
    assert losses["alibi"][0] == min(loss[0] for loss in losses.values()) == pytest.approx(0.6, abs=0.05)
    assert losses["dynamic-bias"][0] == max(loss[0] for loss in losses.values()) == pytest.approx(3.1, abs=0.05)
    within = [loss[1] for loss in losses.values()]
    assert [min(within), max(within)] == pytest.approx([0.5, 2.2], abs=0.05)
    beyond = {name: loss[3] for name, loss in losses.items() if name not in ("deberta", "dynamic-bias")}
    assert beyond["kerple-log"] == min(beyond.values()) == pytest.approx(0.1, abs=0.05)
    assert max(beyond.values()) == pytest.approx(0.4, abs=0.05)


@pytest.mark.parametrize(("kind", "difference"), [("shift", 0.25), ("random", 0.36)])
def test_tables_are_near_none_with_other_positions_after_joined_sentences(news, bleu, kind, difference):
    none = bleu["joined", "none"]
    assert all(abs(news["joined", kind, name][band] - none[band]) < difference for name in TABLES for band in BANDS)


def test_sinusoidal_is_below_none_with_shifted_positions_after_joined_sentences(news, bleu):
    assert all(news["joined", "shift", "sinusoidal"][band] < bleu["joined", "none"][band] - 0.7 for band in BANDS)


def test_shifted_positions_after_single_sentences(news, bleu):
    none = bleu["single", "none"]
    assert abs(news["single", "shift", "learned"]["single"] - none["single"]) < 0.06
    assert all(news["single", "shift", "sinusoidal"][band] < none[band] for band in BANDS)


# BLEU that an encoding loses by random positions on single sentences, and gains beyond all training lengths.
RANDOM = {
    "sinusoidal": (0.88, 0.15),
    "learned": (0.82, 0.49),
    "shaw": (2.20, -0.18),
    "t5": (1.66, -0.31),
    "adaptive-t5": (-0.03, 0.0),
    "alibi": (0.90, -0.07),
    "sandwich": (2.20, -0.48),
    "sandwich-smoothed": (1.71, -0.30),
    "rope": (1.63, 0.07),
    "xpos": (1.24, 0.12),
    "dynamic-bias": (1.98, 0.27),
    "deberta": (1.06, 0.22),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_positions_after_single_sentences(news, bleu, name):
    random, index = news["single", "random", name], bleu["single", name]
    loss, gain = RANDOM[name]
    assert index["single"] - random["single"] == pytest.approx(loss, abs=0.01)
    assert random["beyond joined"] - index["beyond joined"] == pytest.approx(gain, abs=0.01)
    assert random["joined"] < index["joined"]


@pytest.mark.parametrize("name", ["shaw", "t5", "sandwich", "sandwich-smoothed"])
def test_some_lose_in_every_band_by_random_positions_after_single_sentences(news, bleu, name):
    assert all(news["single", "random", name][band] < bleu["single", name][band] - 0.15 for band in BANDS)


@pytest.mark.parametrize("name", ["sinusoidal", "learned"])
def test_random_positions_after_single_sentences_are_near_none_beyond_all_training_lengths(news, bleu, name):
    random = news["single", "random", name]["beyond joined"]
    assert abs(random - bleu["single", "none"]["beyond joined"]) < 0.15


def test_random_positions_after_single_sentences_are_all_in_the_claims(news):
    assert {name for text, kind, name in news if (text, kind) == ("single", "random")} == set(RANDOM)
